// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/axis_parts.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <QLocale>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"

namespace kvlab {
namespace {

QString groups(int number) { return QLocale(QLocale::C).toString(number).replace(',', QChar(0x2009)); }

}  // namespace

void paintRuler(QPainter& painter, const QRect& ruler, int width, const AxisMap& axis, const Theme& theme) {
  painter.fillRect(QRect(0, ruler.top(), width, ruler.height()), theme.raised);
  painter.fillRect(QRect(0, ruler.bottom(), width, 1), theme.border);
  painter.setFont(theme.monoSmall);
  painter.setPen(theme.faint);
  const int step = static_cast<int>(std::max(1.0, roundStep(64 / axis.scale)));
  const auto [begin, end] = axis.inSight();
  const bool centred = axis.scale >= 20;
  const QFontMetrics metrics = painter.fontMetrics();
  for (int i = (begin + step - 1) / step * step; i < end; i += step) {
    const double left = ruler.left() + axis.pixel(i);
    if (!centred) painter.fillRect(QRectF(std::round(left), ruler.bottom() - 5, 1, 5), theme.faint);
    const QRectF box(centred ? left - 32 : left + 4, ruler.top(), centred ? axis.scale + 64 : 64, ruler.height() - 1);
    const double wide = metrics.horizontalAdvance(groups(i)),
                 last = centred ? box.center().x() + wide / 2 : box.left() + wide;
    if (last <= width - 2)
      painter.drawText(box, (centred ? Qt::AlignHCenter : Qt::AlignLeft) | Qt::AlignVCenter, groups(i));
  }
}

void paintTokenTexts(QPainter& painter, const QRect& room, const AxisMap& axis, int marked,
                     const std::function<QString(int item)>& textOf, const Theme& theme, bool hanging) {
  if (room.height() <= 0) return;
  painter.setFont(theme.small);
  const QFontMetrics metrics = painter.fontMetrics();
  const bool upright = room.height() > 40;
  const auto [begin, end] = axis.inSight();
  for (int i = begin; i < end; ++i) {
    painter.setPen(i == marked ? theme.text : theme.muted);
    const double left = room.left() + axis.pixel(i);
    const QString text =
        metrics.elidedText(textOf(i), Qt::ElideRight, upright ? room.height() - 10 : static_cast<int>(axis.scale) - 4);
    painter.save();
    if (upright) {
      painter.translate(left + axis.scale / 2 + metrics.ascent() / 2.0 - 1.5,
                        hanging ? room.top() + 6 + metrics.horizontalAdvance(text) : room.bottom() - 6);
      painter.rotate(-90);
      painter.drawText(0, 0, text);
    } else {
      painter.drawText(QRectF(left, room.top(), axis.scale, room.height() - 6), Qt::AlignCenter, text);
    }
    painter.restore();
  }
}

QString shortTokenText(const Snapshot& snapshot, LedgerId id) {
  const QString text = tokenText(snapshot, id);
  return text.startsWith(QChar(0x00B7)) && text.size() > 1 ? text.mid(1) : text;
}

void paintArrow(QPainter& painter, QPointF tip, double tall, const QColor& colour) {
  const bool smooth = painter.testRenderHint(QPainter::Antialiasing);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  painter.drawPolygon(QPolygonF({tip, tip + QPointF(-4, tall), tip + QPointF(4, tall)}));
  painter.setRenderHint(QPainter::Antialiasing, smooth);
}

void paintOutline(QPainter& painter, const QRectF& box, const QColor& colour, int wide, const Theme& theme) {
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.dark ? QColor(0, 0, 0, 190) : QColor(255, 255, 255, 210), wide + 2));
  painter.drawRect(box);
  painter.setPen(QPen(colour, wide));
  painter.drawRect(box);
}

void paintFinding(QPainter& painter, const QRectF& box, const Theme& theme) {
  constexpr double kLeast = 9, kCross = 7;
  const double wide = std::max(0.0, kLeast - box.width()) / 2, tall = std::max(0.0, kLeast - box.height()) / 2;
  const QRectF frame = box.adjusted(-wide - 2, -tall - 2, wide + 1, tall + 1);
  paintOutline(painter, frame, theme.error, 2, theme);
  const bool small = frame.width() < 2 * kCross || frame.height() < 2 * kCross;
  const QPointF corner =
      small ? frame.center() - QPointF(kCross, kCross) / 2 : frame.topRight() - QPointF(kCross + 2, -2);
  const QRectF cross(corner, QSizeF(kCross, kCross));
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(cross.adjusted(-1, -1, 1, 1), theme.surface);
  painter.setPen(QPen(theme.error, 2));
  painter.drawLine(cross.topLeft(), cross.bottomRight());
  painter.drawLine(cross.topRight(), cross.bottomLeft());
  painter.restore();
}

LegendEntry findingLegend(const Theme& theme) {
  return {QCoreApplication::translate("kvlab::FindingMarks", "found wrong"), 18,
          [&theme](QPainter& painter, const QRect& box) {
            paintFinding(painter, QRectF(box.left() + 2, box.center().y() - 4, 9, 9), theme);
          }};
}

void paintReadout(QPainter& painter, const QRect& line, const QString& text, const QString& hint, const Theme& theme,
                  const QString& note, bool wrong) {
  painter.fillRect(line, theme.raised);
  painter.fillRect(QRect(line.left(), line.top(), line.width(), 1), theme.border);
  painter.setFont(theme.monoSmall);
  const QFontMetrics metrics = painter.fontMetrics();
  const QRect inner = line.adjusted(Theme::kMedium, 1, -Theme::kMedium, 0);
  const int taken = note.isEmpty() ? 0 : metrics.horizontalAdvance(note) + Theme::kHuge;
  painter.setPen(text.isEmpty() ? theme.faint : theme.text);
  painter.drawText(inner.adjusted(0, 0, -taken, 0), Qt::AlignVCenter,
                   metrics.elidedText(text.isEmpty() ? hint : text, Qt::ElideRight, inner.width() - taken));
  painter.setPen(wrong ? theme.error : theme.warning);
  painter.drawText(inner, Qt::AlignVCenter | Qt::AlignRight, note);
}

namespace {
std::vector<QRect> legendBoxes(const std::vector<LegendEntry>& legend, const QRect& area) {
  const QFontMetrics metrics(Theme::current()->small);
  std::vector<QRect> boxes;
  int x = 0, line = 0;
  for (const LegendEntry& entry : legend) {
    const int wide = entry.room + metrics.horizontalAdvance(entry.words) + Theme::kLarge;
    if (x > 0 && x + wide > area.width()) ++line, x = 0;
    boxes.emplace_back(area.left() + x, area.top() + line * kLegendLine, wide, kLegendLine);
    x += wide;
  }
  return boxes;
}
}  // namespace

int legendHeight(const std::vector<LegendEntry>& legend, int width) {
  const std::vector<QRect> boxes = legendBoxes(legend, QRect(0, 0, width, 0));
  return boxes.empty() ? kLegendLine : boxes.back().bottom() + 1;
}

void paintLegend(QPainter& painter, const QRect& area, const std::vector<LegendEntry>& legend, const Theme& theme) {
  const std::vector<QRect> boxes = legendBoxes(legend, area);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    legend[i].mark(painter, boxes[i]);
    painter.setFont(theme.small);
    painter.setPen(theme.muted);
    painter.drawText(boxes[i].adjusted(legend[i].room, 0, 0, 0), Qt::AlignVCenter, legend[i].words);
  }
}

void paintColours(QPainter& painter, const QRectF& box, const ColourTable& table, int from, int to) {
  const int wide = static_cast<int>(box.width());
  for (int x = 0; x < wide; ++x)
    painter.fillRect(QRectF(box.left() + x, box.top(), 1, box.height()),
                     QColor(table[at(std::max<int>(kFirstColour, from + x * (to - from) / (wide - 1)))]));
}

}  // namespace kvlab
