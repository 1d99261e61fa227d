// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/smartkv/band_canvas.h"

#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/storage_groups.h"

namespace kvlab {

BandCanvas::BandCanvas(InspectorContext& context, QWidget* parent) : MatrixCanvas(context, parent) {
  setAccessibleName(tr("Rows of each layer by band and score"));
  setToolTip(
      tr("Colours show scores. Click focuses a row; arrow keys move by tokens and "
         "layers; the wheel, + and - zoom, dragging pans, 0 or a double click shows the whole context"));
  setToolTipDuration(5000);
  setMaxScale(24);
}

void BandCanvas::show(SnapshotPtr snapshot, std::vector<BandRows> layers, ScaleChoice choice) {
  m_snapshot = std::move(snapshot);
  m_layers = std::move(layers);
  if (choice.range == ScaleChoice::Range::Usual) choice.range = ScaleChoice::Range::Line;
  std::vector<std::span<const float>> scores;
  for (const BandRows& one : m_layers) scores.emplace_back(one.score);
  m_scales = scalesFor(Quantity::Score, scores, choice);
  setFindings(m_snapshot ? FindingMarks(*m_snapshot) : FindingMarks());
  changed();
}

MatrixShape BandCanvas::shape() const {
  return {.gutter = 40, .right = 74, .tallest = 34, .lowest = 16, .readout = false, .frameLine = true};
}

QString BandCanvas::lineName(int line) const { return layerText(*m_snapshot, m_layers[at(line)].layer); }

MatrixCanvas::LineFigure BandCanvas::lineFigure(int line) const {
  const BandRows& rows = m_layers[at(line)];
  if (!rows.bounded) return {tr("%1, all").arg(rows.rows())};
  const int capacity = rows.requested.capacity();
  return {QStringLiteral("%1/%2").arg(rows.rows()).arg(capacity), rows.rows() > capacity};
}

/// Summaries of the tokens that share a pixel.
const std::vector<BandCanvas::Column>& BandCanvas::columnsOf(std::size_t layer, int width) {
  std::vector<Column>& out = m_columns[layer];
  if (!out.empty() || axis().count <= 0) return out;
  const BandRows& rows = m_layers[layer];
  out.resize(at(width));
  for (std::size_t x = 0; x < out.size(); ++x) {
    const double first = axis().item(static_cast<double>(x)), last = axis().item(static_cast<double>(x) + 1);
    const auto begin = static_cast<std::int64_t>(first),
               end = std::min(std::max(begin + 1, static_cast<std::int64_t>(last)),
                              static_cast<std::int64_t>(rows.band.size()));
    Column column;
    column.score = NAN;
    std::int64_t there = 0;
    for (std::int64_t p = begin; p < end; ++p) {
      if (rows.band[at(p)] == Band::Gone) continue;
      ++there;
      if (!rows.score.empty() && !(rows.score[at(p)] <= column.score)) column.score = rows.score[at(p)];
    }
    column.there = end > begin ? static_cast<float>(there) / static_cast<float>(end - begin) : 0;
    if (begin >= static_cast<std::int64_t>(rows.band.size())) column.there = -1;  // behind the last token
    out[x] = column;
  }
  return out;
}

QString BandCanvas::readout() const {
  if (!m_snapshot) return {};
  const int layer = points() ? hovered().line : context().focus().layer.value(),
            position = points() ? hovered().item : context().focus().position.value();
  if (layer < 0 || layer >= static_cast<int>(m_layers.size())) return {};
  const BandRows& rows = m_layers[at(layer)];
  if (position < 0 || position >= static_cast<int>(rows.band.size())) return ghostText(*m_snapshot, context().focus());
  const LedgerId id = m_snapshot->context[at(position)];
  QStringList parts{points() ? tr("under pointer") : tr("focus"), tokenText(*m_snapshot, id),
                    tr("layer %1").arg(layerText(*m_snapshot, CacheLayer(layer))), tr("position %1").arg(position),
                    rows.band[at(position)] == Band::Gone ? noValueText(*m_snapshot, id, rows.layer, tr("band"))
                                                          : title(rows.band[at(position)])};
  if (!rows.score.empty() && !std::isnan(rows.score[at(position)]))
    parts << tr("score %1").arg(static_cast<double>(rows.score[at(position)]), 0, 'g', 3);
  if (findings().of(id, rows.layer)) parts << findings().text(id, rows.layer);
  for (const Contest& contest : rows.contests)
    if (contest.loser == id)
      parts << (contest.challenger == id
                    ? tr("left the window in this tick and lost")
                    : tr("driven out in this tick by %1").arg(tokenText(*m_snapshot, contest.challenger)));
    else if (contest.challenger == id)
      parts << tr("drove out %1 in this tick").arg(tokenText(*m_snapshot, contest.loser));
  return parts.join(QStringLiteral("   "));
}

}  // namespace kvlab
