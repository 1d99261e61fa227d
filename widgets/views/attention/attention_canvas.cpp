// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/attention/attention_canvas.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "widgets/base/format.h"
#include "widgets/base/read_reply.h"
#include "widgets/base/storage_groups.h"

namespace kvlab {
namespace {

constexpr auto kRefused = "the attention cannot be shown";

Error badReply(const std::string& why) { return {"bad_reply", kRefused, why, "measure again"}; }

CacheLayer layerFrom(const Snapshot& s, const nlohmann::json& reply) {
  const CacheLayers layers = s.info ? s.info->cacheLayers : CacheLayers{static_cast<int>(s.layers.size())};
  const int layer = reply.at("layer"), head = reply.at("kvHead").is_null() ? 0 : reply.at("kvHead").get<int>();
  const bool known = layer >= 0 && layer < layers.layers && head >= 0 && head < layers.perLayer;
  return CacheLayer(known ? layer * layers.perLayer + head : -1);
}

bool complete(const AttentionPicture& p) {
  const int most = p.of->info ? p.of->info->heads : std::numeric_limits<int>::max();
  if (std::ranges::any_of(p.heads, [=](int head) { return head < 0 || head >= most; })) return false;
  const std::size_t lines = p.heads.size() * at(std::max(0, p.queries));
  return (p.heads.size() == 1 || p.queries == 1) && lines > 0 && p.values.size() == lines * p.of->context.size() &&
      p.own.size() == lines && p.layer.value() >= 0 && at(p.layer) < p.of->layers.size() && p.begin >= 0 &&
      p.begin + p.queries <= p.length();
}

Status readPicture(AttentionPicture& out, const nlohmann::json& reply, const std::vector<SnapshotPtr>& history) {
  const Tick tick(reply.at("tick").get<std::int64_t>());
  const auto found =
      std::find_if(history.rbegin(), history.rend(), [&](const SnapshotPtr& one) { return one->tick == tick; });
  if (found == history.rend())
    return badReply("tick " + std::to_string(tick.value()) + " is no longer in the window's history");
  const int begin = reply.at("begin"), end = reply.at("end");
  out.of = *found;
  out.layer = layerFrom(*out.of, reply);
  out.heads = reply.at("heads").get<std::vector<int>>();
  out.begin = begin;
  out.queries = begin >= 0 && end > begin ? end - begin : 0;
  out.values = columnFrom(reply.at("values"));
  out.own = columnFrom(reply.at("own"));
  return complete(out) ? ok() : Status(badReply("the reply does not fit the context of its tick"));
}

}  // namespace

double AttentionPicture::sum(int line) const {
  double sum = double(own[at(line)]);
  bool any = false;
  for (int p = 0; p < length(); ++p)
    if (const float one = value(line, p); !std::isnan(one)) sum += double(one), any = true;
  return any ? sum : NAN;
}

int AttentionPicture::strongest(int line) const {
  int best = -1;
  for (int p = 0; p < length(); ++p)
    if (const float one = value(line, p); !std::isnan(one) && (best < 0 || one > value(line, best))) best = p;
  return best;
}

Result<AttentionPicturePtr> attentionPicture(const nlohmann::json& reply, const std::vector<SnapshotPtr>& history) {
  auto out = std::make_shared<AttentionPicture>();
  KV_TRY(wholeReply(kRefused, "measure again", [&] { return readPicture(*out, reply, history); }));
  return AttentionPicturePtr(std::move(out));
}

AttentionCanvas::AttentionCanvas(InspectorContext& context, QWidget* parent) : MatrixCanvas(context, parent) {
  setAccessibleName(tr("Attention by head"));
  setToolTip(
      tr("Click focuses a row and a head; arrow keys move by rows and lines; the wheel, + and - zoom, dragging pans, 0 "
         "or a double click shows all"));
}

void AttentionCanvas::show(AttentionPicturePtr picture) {
  m_picture = std::move(picture);
  m_query = m_picture ? m_picture->lines() - 1 : -1;
  setScale(m_colours.scales.choice);
}

void AttentionCanvas::setScale(const ScaleChoice& choice) {
  m_colours.scales.choice = choice;
  if (m_picture) {
    const std::vector<CacheLayer> layers(at(m_picture->lines()), m_picture->layer);
    m_colours = matrixColours(Quantity::Attention, m_picture->values, *m_picture->of, layers, choice);
  }
  changed();
}

QString AttentionCanvas::cellText(CanvasCell cell) const {
  return shortValueText(Quantity::Attention, m_picture->value(cell.line, cell.item));
}

MatrixShape AttentionCanvas::shape() const {
  return {.gutter = 52, .tokens = 70, .leastRoom = 52, .tallest = 40, .frameLine = true};
}

MatrixCanvas::Cells AttentionCanvas::cells(const Theme& theme) const {
  return {&m_colours.cells, colourTable(Quantity::Attention, theme)};
}

int AttentionCanvas::focusLine() const {
  if (!m_picture) return -1;
  if (m_picture->byQuery()) return std::clamp(m_query, 0, m_picture->lines() - 1);
  const auto found = std::find(m_picture->heads.begin(), m_picture->heads.end(), context().focus().head.value());
  return found == m_picture->heads.end() ? 0 : static_cast<int>(found - m_picture->heads.begin());
}

void AttentionCanvas::choose(CanvasCell cell) {
  if (cell.line >= 0) m_query = cell.line;
  AxisCanvas::choose(cell);
}

QString AttentionCanvas::lineName(int line) const {
  return QString::number(m_picture->byQuery() ? m_picture->queryOf(line) : m_picture->headOf(line));
}

QString AttentionCanvas::lineText(int line) const {
  const int query = m_picture->queryOf(line);
  return tr("head %1, query %2 %3").arg(m_picture->headOf(line)).arg(query).arg(itemText(query));
}

QString AttentionCanvas::readout() const {
  if (!m_picture) return {};
  const auto [line, row] = pointed();
  const double sum = m_picture->sum(line);
  if (std::isnan(sum)) return tr("%1: a summary asks nothing").arg(lineText(line));
  QString out = lineText(line);
  if (row >= 0) {
    const float value = m_picture->value(line, row);
    const LedgerId id = m_picture->of->context[at(row)];
    out += tr("  →  position %1 %2: %3")
               .arg(row)
               .arg(itemText(row),
                    std::isnan(value) ? noValueText(*m_picture->of, id, m_picture->layer, tr("attention"))
                                      : shareText(double(value)));
    if (findings().of(id, m_picture->layer)) out += "  ✕ " + findings().text(id, m_picture->layer);
  }
  out += tr("   all rows %1").arg(shareText(sum));
  if (const float own = m_picture->own[at(line)]; own > 0)
    out += tr(", its own row, which the layer does not hold, %1").arg(shareText(double(own)));
  return out;
}

}  // namespace kvlab
