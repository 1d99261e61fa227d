// SPDX-License-Identifier: GPL-3.0-or-later
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "widgets/base/layer_text.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/canvas/series_palette.h"
#include "widgets/views/smartkv/band_canvas.h"

namespace kvlab {
namespace {
constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
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

/// A triangle that points down (left now) or up (took a place).
void paintMark(QPainter& painter, QPointF tip, bool down, const QColor& colour) {
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  paintArrow(painter, tip, down ? -7 : 7);
}
}  // namespace

void BandCanvas::paintContent(QPainter& painter, const Theme& theme) {
  if (!m_snapshot || m_layers.empty()) return;
  painter.save();
  painter.setClipRect(QRect(0, area().top(), wide(), area().height()));
  for (std::size_t layer = 0; layer < m_layers.size(); ++layer)
    if (const QRectF line = lineRect(static_cast<int>(layer));
        line.bottom() > area().top() && line.top() < area().bottom())
      paintLine(painter, layer, theme);
  paintFocus(painter, theme);
  painter.restore();
  paintAxis(painter, theme);
  paintLegend(painter, theme);
}

void BandCanvas::paintLine(QPainter& painter, std::size_t layer, const Theme& theme) {
  const BandRows& rows = m_layers[layer];
  const QRectF line = lineRect(static_cast<int>(layer));
  const bool focused = context().focus().layer.value() == rows.layer;
  if (focused)
    painter.fillRect(QRectF(0, line.top(), wide(), line.height()), Theme::mix(theme.surface, theme.selection, 0.6));
  const QRectF strip = line.adjusted(0, 4, 0, -5 - kBand);
  const ColourScale scale = scaleFor(Quantity::Score, rows.score);
  const ColourTable table = colourTable(Quantity::Score, theme);
  const QColor plain = Theme::mix(theme.surface, theme.accent, 0.5);
  const std::vector<Column>& columns = columnsOf(layer);
  for (std::size_t x = 0; x < columns.size(); ++x) {
    const Column& c = columns[x];
    if (c.there < 0) break;
    const double left = strip.left() + static_cast<double>(x);
    painter.fillRect(QRectF(left, strip.top(), 1, strip.height()), theme.sunken);
    if (c.there <= 0) continue;
    const double tall = std::max(2.0, strip.height() * static_cast<double>(c.there));
    painter.fillRect(QRectF(left, strip.bottom() - tall, 1, tall),
                     std::isnan(c.score) ? plain : QColor(table[scale.index(c.score)]));
  }
  paintBands(painter, rows, line, theme);
  paintContests(painter, rows, line, theme);
  painter.setFont(focused ? theme.monoStrong : theme.mono);
  painter.setPen(focused ? theme.text : theme.muted);
  painter.drawText(QRectF(0, line.top(), line.left() - 8, line.height()), Qt::AlignRight | Qt::AlignVCenter,
                   layerText(*m_snapshot, rows.layer));
  painter.setFont(theme.monoSmall);
  painter.setPen(rows.bounded && rows.rows() > rows.requested.capacity() ? theme.error : theme.muted);
  const QString figure = rows.bounded ? QStringLiteral("%1/%2").arg(rows.rows()).arg(rows.requested.capacity())
                                      : tr("%1, all").arg(rows.rows());
  painter.drawText(QRectF(line.right() + 6, line.top(), wide() - line.right() - 8, line.height()),
                   Qt::AlignLeft | Qt::AlignVCenter, figure);
}

/// One stroke from the first to the last row of each band: thick for the budget, with feet for sinks and window.
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
  painter.setRenderHint(QPainter::Antialiasing);
  for (const auto& [challenger, loser] : rows.places) {
    const auto place = [&](std::int32_t position) {
      return position < 0 ? -1.0 : line.left() + axis().pixel(position + 0.5);
    };
    const auto inside = [&](double x) { return x >= line.left() && x <= line.right(); };
    if (inside(place(loser))) paintMark(painter, QPointF(place(loser), line.top() + 7), true, theme.warning);
    if (loser != challenger && inside(place(challenger)))
      paintMark(painter, QPointF(place(challenger), line.top() + 1), false, theme.ok);
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void BandCanvas::paintFocus(QPainter& painter, const Theme& theme) const {
  const auto outline = [&](int layer, int position, const QColor& colour, int wide) {
    if (layer < 0 || layer >= static_cast<int>(m_layers.size()) || position < 0 || position >= axis().count) return;
    const QRectF line = lineRect(layer);
    const double left = line.left() + axis().pixel(position), right = line.left() + axis().pixel(position + 1);
    if (right < line.left() || left > line.right()) return;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(colour, wide));
    painter.drawRect(QRectF(left - 1, line.top() + 3, std::max(3.0, right - left + 1), line.height() - 7 - kBand));
  };
  painter.setRenderHint(QPainter::Antialiasing);
  outline(hovered().line, context().hovered().value(), theme.hover, 1);
  outline(context().focus().layer.value(), context().focus().position.value(), theme.focus, 2);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void BandCanvas::paintAxis(QPainter& painter, const Theme& theme) const {
  const QRect strips = area();
  painter.setFont(theme.monoSmall);
  painter.setPen(theme.faint);
  const int last =
      std::max(0, static_cast<int>(std::ceil(std::min(axis().first + axis().visible(), axis().count))) - 1);
  const double end = strips.left() + std::min(axis().pixel(axis().count), static_cast<double>(strips.width()));
  const QRectF room(strips.left(), 0, end - strips.left(), kBand + 15);
  painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter, QString::number(static_cast<int>(axis().first)));
  painter.drawText(room, Qt::AlignRight | Qt::AlignVCenter, QString::number(last));
  painter.setFont(theme.small);
  painter.drawText(room, Qt::AlignHCenter | Qt::AlignVCenter, tr("position"));
  painter.drawText(QRectF(strips.right() + 6, 0, wide() - strips.right() - 6, room.height()),
                   Qt::AlignLeft | Qt::AlignVCenter, tr("rows"));
  painter.drawText(QRectF(0, 0, strips.left() - 4, room.height()), Qt::AlignRight | Qt::AlignVCenter, tr("layer"));
}

void BandCanvas::paintLegend(QPainter& painter, const Theme& theme) const {
  const QRect room = legendRect();
  painter.fillRect(QRect(0, room.top(), wide(), room.height()), theme.surface);
  painter.setFont(theme.small);
  const QStringList texts = legendTexts();
  const std::vector<QRect> boxes = legendBoxes(legendWidths(), room);
  for (int i = 0; i < texts.size(); ++i) {
    const bool bar = i == texts.size() - 1;
    const QRectF box(boxes[at(i)]);
    const double middle = box.center().y();
    if (i < 3) {
      const Band band = i == 0 ? Band::Sink : i == 1 ? Band::Budget : Band::Window;
      const QColor colour = bandColour(band, theme);
      painter.fillRect(QRectF(box.left(), middle - 1, 14, band == Band::Budget ? 3 : 2), colour);
      if (band != Band::Budget) {
        painter.fillRect(QRectF(box.left(), middle - 3, 1.5, 4), colour);
        painter.fillRect(QRectF(box.left() + 12.5, middle - 3, 1.5, 4), colour);
      }
    } else if (i == 3) {
      painter.fillRect(QRectF(box.left() + 2, middle - 5, 10, 10), theme.sunken);
      painter.setPen(theme.border);
      painter.drawRect(QRectF(box.left() + 2, middle - 5, 10, 10));
    } else if (!bar) {
      painter.setRenderHint(QPainter::Antialiasing);
      paintMark(painter, QPointF(box.left() + 7, middle + (i == 4 ? 4 : -4)), i == 4,
                i == 4 ? theme.warning : theme.ok);
      painter.setRenderHint(QPainter::Antialiasing, false);
    } else {
      const ColourTable table = colourTable(Quantity::Score, theme);
      for (int k = 0; k < 48; ++k)
        painter.fillRect(QRectF(box.left() + k, middle - 5, 1, 10), QColor(table[at(1 + k * 254 / 47)]));
    }
    painter.setPen(theme.muted);
    painter.drawText(box.adjusted(swatchOf(i), 0, 0, 0), Qt::AlignVCenter, texts[i]);
  }
}

}  // namespace kvlab
