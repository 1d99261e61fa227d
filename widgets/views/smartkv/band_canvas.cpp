// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/smartkv/band_canvas.h"

#include <QCoreApplication>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/storage_groups.h"
#include "widgets/base/theme.h"
#include "widgets/canvas/colour_map.h"

namespace kvlab {
namespace {
void fillBands(const Snapshot& s, const ResidencyView& map, BandRows& out) {
  const std::vector<std::int32_t> positions = positionsOf(s, map);
  const auto rows = static_cast<std::int32_t>(positions.size());
  const std::int32_t sinks = out.bounded ? std::min(out.requested.sinks, rows) : 0;
  const std::int32_t window = out.bounded ? std::min(out.requested.window, rows - sinks) : 0;
  out.there = {sinks, rows - sinks - window, window};
  for (std::int32_t i = 0; i < rows; ++i) {
    const std::int32_t p = positions[at(i)];
    if (p < 0) continue;
    const Band band = !out.bounded ? Band::Kept
        : i < sinks                ? Band::Sink
        : i < rows - window        ? Band::Budget
                                   : Band::Window;
    auto& [first, end] = out.extent[at(static_cast<int>(band))];
    first = end == 0 ? p : std::min(first, p);
    end = std::max(end, p + 1);
    out.band[at(p)] = band;
  }
}

/// Finds the positions of the rows of all contests, in one walk over the context.
void placeContests(const Snapshot& s, std::vector<BandRows>& layers) {
  std::map<LedgerId, std::int32_t> wanted;
  for (const BandRows& layer : layers)
    for (const Contest& contest : layer.contests) wanted[contest.challenger] = wanted[contest.loser] = -1;
  if (wanted.empty()) return;
  for (std::int32_t p = 0; p < s.length(); ++p)
    if (const auto found = wanted.find(s.context[at(p)]); found != wanted.end()) found->second = p;
  for (BandRows& layer : layers)
    for (const Contest& contest : layer.contests)
      layer.places.emplace_back(wanted[contest.challenger], wanted[contest.loser]);
}

void fillScores(const std::vector<float>& scores, std::size_t length, BandRows& out) {
  const auto from = scores.begin() + static_cast<std::ptrdiff_t>(at(out.layer) * length);
  out.score.assign(from, from + static_cast<std::ptrdiff_t>(length));
  for (std::size_t p = 0; p < length; ++p)
    if (out.band[p] == Band::Budget && !std::isnan(out.score[p]) && !(out.score[p] >= out.lowest))
      out.lowest = out.score[p];
  if (std::all_of(out.score.begin(), out.score.end(), [](float x) { return std::isnan(x); })) out.score.clear();
}

constexpr int kBand = 4;  // height of the line of bands

QColor bandColour(Band band, const Theme& theme) {
  switch (band) {
    case Band::Sink: return seriesColour(1, theme.dark);
    case Band::Budget: return seriesColour(0, theme.dark);
    case Band::Window: return seriesColour(2, theme.dark);
    case Band::Kept: return theme.muted;
    default: return theme.faint;
  }
}

/// The colour of rows whose score was not measured.
QColor unscored(const Theme& theme) { return Theme::mix(theme.surface, theme.accent, 0.5); }
}  // namespace

QString title(Band band) {
  static constexpr const char* kTitles[] = {"not resident", "kept", "sink", "budget", "window"};
  return QCoreApplication::translate("kvlab::BandRows", kTitles[static_cast<std::size_t>(band)]);
}

std::vector<BandRows> bandRows(const Snapshot& s, const std::vector<float>* scores) {
  std::vector<BandRows> out;
  const auto length = at(s.length());
  LayerAudit keepsAll;
  keepsAll.policy = "full";
  for (std::size_t l = 0; l < s.layers.size() && (!s.policies || l < s.policies->layers.size()); ++l) {
    const LayerAudit& audit = s.policies ? s.policies->layers[l] : keepsAll;
    BandRows one;
    one.layer = CacheLayer(static_cast<std::int32_t>(l));
    one.policy = audit.policy;
    one.bounded = audit.bounded;
    one.requested = audit.bands;
    one.contests = audit.contests;
    one.lowest = std::numeric_limits<float>::quiet_NaN();
    one.band.assign(length, Band::Gone);
    if (s.layers[l]) fillBands(s, *s.layers[l], one);
    if (scores && scores->size() >= (l + 1) * length) fillScores(*scores, length, one);
    out.push_back(std::move(one));
  }
  placeContests(s, out);
  return out;
}

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

void BandCanvas::paintLine(QPainter& painter, const QRectF& line, int layer, const Theme& theme) {
  const BandRows& rows = m_layers[at(layer)];
  const QRectF strip = line.adjusted(0, 4, 0, -5 - kBand);
  const ColourScale& scale = m_scales.of(layer);
  const ColourTable table = colourTable(Quantity::Score, theme);
  const QColor plain = unscored(theme);
  const QBrush gone = missingBrush(theme);
  const std::vector<Column>& columns = columnsOf(at(layer), static_cast<int>(line.width()));
  for (std::size_t x = 0; x < columns.size(); ++x) {
    const Column& c = columns[x];
    if (c.there < 0) break;
    const double left = strip.left() + static_cast<double>(x);
    painter.fillRect(QRectF(left, strip.top(), 1, strip.height()), c.there > 0 ? QBrush(theme.sunken) : gone);
    if (c.there <= 0) continue;
    const double tall = std::max(2.0, strip.height() * static_cast<double>(c.there));
    painter.fillRect(QRectF(left, strip.bottom() - tall, 1, tall),
                     std::isnan(c.score) ? plain : QColor(table[scale.index(c.score)]));
  }
  paintBands(painter, rows, line, theme);
  paintContests(painter, rows, line, theme);
}

/// Paints one line from the first to the last row of each band: thick for the budget, with feet for sinks and window.
void BandCanvas::paintBands(QPainter& painter, const BandRows& rows, const QRectF& line, const Theme& theme) const {
  for (const Band band : {Band::Kept, Band::Sink, Band::Budget, Band::Window}) {
    const auto [first, end] = rows.extent[at(static_cast<int>(band))];
    if (end == 0) continue;
    const double left = std::clamp(axis().pixel(first), 0.0, line.width()),
                 right = std::clamp(axis().pixel(end), 0.0, line.width());
    if (right <= left) continue;
    const QRectF box(line.left() + left, line.bottom() - 4 - kBand / 2.0, std::max(2.0, right - left - 1), kBand / 2.0);
    const QColor colour = bandColour(band, theme);
    painter.fillRect(band == Band::Budget ? box.adjusted(0, -1, 0, 0) : box, colour);
    if (band == Band::Sink || band == Band::Window) {
      painter.fillRect(QRectF(box.left(), box.top() - 2, 1.5, kBand), colour);
      painter.fillRect(QRectF(box.right() - 1.5, box.top() - 2, 1.5, kBand), colour);
    }
  }
}

void BandCanvas::paintContests(QPainter& painter, const BandRows& rows, const QRectF& line, const Theme& theme) const {
  for (const auto& [challenger, loser] : rows.places) {
    const auto place = [&](std::int32_t position) {
      return position < 0 ? -1.0 : line.left() + axis().pixel(position + 0.5);
    };
    const auto inside = [&](double x) { return x >= line.left() && x <= line.right(); };
    if (inside(place(loser))) paintArrow(painter, QPointF(place(loser), line.top() + 7), -7, theme.warning);
    if (loser != challenger && inside(place(challenger)))
      paintArrow(painter, QPointF(place(challenger), line.top() + 1), 7, theme.ok);
  }
}

QRectF BandCanvas::cellBox(const MatrixParts& p, CanvasCell cell) const {
  const QRectF line = p.line(cell.line);
  return {line.left() + axis().pixel(cell.item) - 1, line.top() + 3, std::max(3.0, axis().scale + 1),
          line.height() - 7 - kBand};
}

std::vector<LegendEntry> BandCanvas::legend(const Theme& theme) const {
  constexpr int kRoom = 20, kBar = 48;
  std::vector<LegendEntry> out;
  const auto add = [&](const QString& words, std::function<void(QPainter&, const QRectF& box, double middle)> mark) {
    out.push_back({words, kRoom, [mark = std::move(mark)](QPainter& painter, const QRect& box) {
                     mark(painter, QRectF(box), QRectF(box).center().y());
                   }});
  };
  const auto addBand = [&](const QString& words, Band band) {
    add(words, [band, colour = bandColour(band, theme)](QPainter& painter, const QRectF& box, double middle) {
      painter.fillRect(QRectF(box.left(), middle - 1, 14, band == Band::Budget ? 3 : 2), colour);
      if (band == Band::Budget) return;
      painter.fillRect(QRectF(box.left(), middle - 3, 1.5, 4), colour);
      painter.fillRect(QRectF(box.left() + 12.5, middle - 3, 1.5, 4), colour);
    });
  };
  addBand(tr("sinks"), Band::Sink);
  addBand(tr("budget"), Band::Budget);
  addBand(tr("window"), Band::Window);
  if (std::ranges::any_of(m_layers, [](const BandRows& one) { return one.score.empty(); }))
    add(tr("score not measured"), [&theme](QPainter& painter, const QRectF& box, double middle) {
      painter.fillRect(QRectF(box.left() + 2, middle - 5, 10, 10), unscored(theme));
    });
  add(tr("gone"), [&theme](QPainter& painter, const QRectF& box, double middle) {
    painter.fillRect(QRectF(box.left() + 2, middle - 5, 10, 10), missingBrush(theme));
    painter.setPen(theme.border);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(box.left() + 2, middle - 5, 10, 10));
  });
  add(tr("evicted in this tick"), [&theme](QPainter& painter, const QRectF& box, double middle) {
    paintArrow(painter, QPointF(box.left() + 7, middle + 4), -7, theme.warning);
  });
  add(tr("won a place in this tick"), [&theme](QPainter& painter, const QRectF& box, double middle) {
    paintArrow(painter, QPointF(box.left() + 7, middle - 4), 7, theme.ok);
  });
  add(tr("score, %1").arg(legendWords({m_scales})), [&theme](QPainter& painter, const QRectF& box, double middle) {
    paintColours(painter, QRectF(box.left(), middle - 5, kBar, 10), colourTable(Quantity::Score, theme));
  });
  out.back().room = kBar + 6;
  if (!findings().empty()) out.push_back(findingLegend(theme));
  return out;
}

}  // namespace kvlab
