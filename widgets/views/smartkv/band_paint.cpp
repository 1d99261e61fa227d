// SPDX-License-Identifier: GPL-3.0-or-later
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/base/theme.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/views/smartkv/band_canvas.h"

namespace kvlab {
namespace {
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
