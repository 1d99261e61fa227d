// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/rings/ring_painter.h"

#include <QCoreApplication>
#include <algorithm>

#include "widgets/base/inspector_view.h"
#include "widgets/canvas/axis_parts.h"

namespace kvlab {
namespace {
constexpr double kRim = 3, kRimGap = 2, kTick = 4;  // rim: rows written by the last commit; ticks of the ruler
constexpr int kAgeSteps = 240;                      // arcs that a long logical order is divided into
QString say(const char* text) { return QCoreApplication::translate("kvlab::RingPainter", text); }

QColor fillOf(SlotUse use, const Theme& t) {
  switch (use) {
    case SlotUse::Row: return Theme::mix(t.surface, t.accent, t.dark ? 0.78 : 0.72);
    case SlotUse::Wrapped: return Theme::mix(t.surface, t.accent, t.dark ? 0.36 : 0.28);
    case SlotUse::Wrong: return t.error;
    case SlotUse::Room: return Theme::mix(t.surface, t.muted, 0.12);
    default: return t.sunken;
  }
}

/// The range of the colour map that contrasts with the background.
double ageShare(double share, bool dark) { return dark ? 0.22 + 0.78 * share : 0.88 * share; }

/// Distance between labels of `pixels` each: 1, 2 or 5 times a power of ten.
int labelStep(double perItem, double pixels) {
  for (int step = 1;; step *= 10)
    for (const int factor : {1, 2, 5})
      if (step * factor * perItem >= pixels || step >= 100'000'000) return step * factor;
}
}  // namespace

RingPainter::RingPainter(QPainter& painter, const RingPicture& ring, const RingShape& shape, const QRectF& room,
                         const Theme& theme, std::optional<RingColours> colours)
    : m_painter(painter),
      m_ring(ring),
      m_shape(shape),
      m_room(room),
      m_theme(theme),
      m_colours(std::move(colours)),
      m_ages(colourTable(MapKind::Cividis, theme)) {
  m_painter.setRenderHint(QPainter::Antialiasing);
}

void RingPainter::bands() {
  slotBand();
  orderBand();
  rim();
}

/// Paints slanted lines across the band, as a second sign besides colour.
void RingPainter::slants(double begin, double end, const QColor& colour, bool both) {
  const double step = m_shape.cells()
      ? m_shape.turn(1)
      : std::max(m_shape.turn(1), 7 / (2 * std::numbers::pi * std::max(1.0, m_shape.radius)));
  m_painter.setPen(QPen(colour, 1.2));
  const double low = inner(RingShape::kSlotEdge) + 1, high = m_shape.radius - 1, lean = step * 0.72;
  for (double turns = begin + step * 0.14; turns + lean <= end + 1e-9; turns += step) {
    m_painter.drawLine(m_shape.at(turns, low), m_shape.at(turns + lean, high));
    if (both) m_painter.drawLine(m_shape.at(turns + lean, low), m_shape.at(turns, high));
  }
}

void RingPainter::slotCell(int begin, int end, SlotUse use) {
  const double from = m_shape.turn(begin), to = m_shape.turn(end);
  const QPainterPath path =
      m_shape.sector(inner(RingShape::kSlotEdge), m_shape.radius, from, to, m_shape.cells() ? 1.5 : 0);
  m_painter.setPen(use == SlotUse::Free || use == SlotUse::Room ? QPen(m_theme.border, 1) : QPen(Qt::NoPen));
  m_painter.setBrush(fillOf(use, m_theme));
  m_painter.drawPath(path);
}

void RingPainter::slotBand() {
  std::vector<SlotRun> runs = slotRuns(m_ring);
  std::stable_sort(runs.begin(), runs.end(), [](const SlotRun& a, const SlotRun& b) { return a.use < b.use; });
  for (const SlotRun& run : runs) {
    if (m_shape.cells())
      for (int slot = run.begin; slot < run.end; ++slot) slotCell(slot, slot + 1, run.use);
    else slotCell(run.begin, run.end, run.use);
    const double from = m_shape.turn(run.begin), to = m_shape.turn(run.end);
    if (run.use == SlotUse::Room) slants(from, to, m_theme.faint);
    if (run.use == SlotUse::Wrapped)
      slants(from, to, m_theme.dark ? m_theme.accent : Theme::mix(m_theme.surface, m_theme.accent, 0.75));
    if (run.use == SlotUse::Wrong) slants(from, to, m_theme.surface, true);
  }
}

QColor RingPainter::rowColour(int begin, int end) const {
  if (m_colours) {
    const auto& rows = m_colours->rows;
    return QColor(m_colours->table[*std::max_element(rows.begin() + begin, rows.begin() + end)]);
  }
  const int row = end - 1;
  const double share = m_ring.rows() > 1 ? static_cast<double>(row) / (m_ring.rows() - 1) : 1.0;
  return colourAt(m_ages, ageShare(share, m_theme.dark));
}

void RingPainter::orderBand() {
  m_painter.setPen(Qt::NoPen);
  m_painter.setBrush(Theme::mix(m_theme.surface, m_theme.border, 0.35));
  m_painter.drawPath(m_shape.sector(inner(RingShape::kOrderInner) + 2, inner(RingShape::kOrderOuter) - 2, 0, 1));
  const int stride = m_shape.cells() ? 1 : std::max(1, m_ring.rows() / kAgeSteps);
  const auto follows = [&](int row) { return m_ring.slotOf[at(row)] == m_ring.slotOf[at(row - 1)] + 1; };
  for (int row = 0; row < m_ring.rows();) {
    int end = row + 1;
    while (end < m_ring.rows() && end - row < stride && follows(end)) ++end;
    const int slot = m_ring.slotOf[at(row)];
    m_painter.setBrush(rowColour(row, end));
    const bool goesOn = !m_shape.cells() && end < m_ring.rows() && follows(end);  // the next arc covers the seam
    m_painter.drawPath(
        m_shape.sector(inner(RingShape::kOrderInner), inner(RingShape::kOrderOuter), m_shape.turn(slot),
                       m_shape.turn(slot + end - row) + (goesOn ? 2 / (2 * std::numbers::pi * m_shape.radius) : 0),
                       m_shape.cells() ? 1.5 : 0));
    row = end;
  }
}

void RingPainter::rim() {
  m_painter.setPen(Qt::NoPen);
  m_painter.setBrush(m_theme.warning);
  const double low = m_shape.radius + kRimGap;
  const int begin = m_ring.ring.writeBegin, count = std::min(m_ring.ring.writeCount, m_ring.slotCount());
  const int first = std::min(count, m_ring.slotCount() - begin);
  if (first > 0)
    m_painter.drawPath(m_shape.sector(low, low + kRim, m_shape.turn(begin), m_shape.turn(begin + first), 1));
  if (count > first) m_painter.drawPath(m_shape.sector(low, low + kRim, 0, m_shape.turn(count - first), 1));
}

QRectF RingPainter::labelBox(const QString& text, double turns, double distance) const {
  const QFontMetrics metrics(m_theme.monoSmall);
  const QSizeF half(metrics.horizontalAdvance(text) / 2.0 + 2, metrics.height() / 2.0);
  const double angle = turns * 2 * std::numbers::pi;
  const double reach = half.width() * std::abs(std::sin(angle)) + half.height() * std::abs(std::cos(angle));
  const QPointF middle = m_shape.at(turns, distance >= m_shape.radius ? distance + reach : distance - reach);
  return {middle - QPointF(half.width(), half.height()), half * 2};
}

/// Names a boundary between slots; where the word has no room beside the ring, the number stands alone.
void RingPainter::boundary(const QString& word, int slot, int direction, const QColor& colour) {
  const double turns = m_shape.turn(slot), far = m_shape.radius + 12;
  const QString named = QStringLiteral("%1 %2").arg(word).arg(slot);
  const QRectF box = labelBox(named, turns, far);
  const bool fits = box.left() >= m_room.left() && box.right() <= m_room.right();
  label(fits ? named : QString::number(slot), turns, far, direction, colour);
}

bool RingPainter::label(const QString& text, double turns, double distance, int direction, const QColor& colour) {
  m_painter.setFont(m_theme.monoSmall);
  const bool outside = distance >= m_shape.radius;
  const double step = direction * 4 / (2 * std::numbers::pi * std::max(1.0, distance));
  for (int attempt = 0; attempt < (direction ? 40 : 1); ++attempt, turns += step) {
    QRectF box = labelBox(text, turns, distance);
    if (outside)
      box.moveLeft(std::clamp(box.left(), m_room.left(), std::max(m_room.left(), m_room.right() - box.width())));
    if (outside && (box.top() < m_room.top() || box.bottom() > m_room.bottom())) continue;
    if (std::any_of(m_taken.begin(), m_taken.end(), [&](const QRectF& other) { return other.intersects(box); }))
      continue;
    m_taken.push_back(box);
    m_painter.setPen(colour);
    m_painter.drawText(box, Qt::AlignCenter, text);
    return true;
  }
  return false;
}

/// Paints a triangle that points at the boundary before a slot; the head's triangle is hollow.
void RingPainter::marker(int slot, bool filled) {
  const double turns = m_shape.turn(slot), low = m_shape.radius + 1, half = 5 / (2 * std::numbers::pi * m_shape.radius);
  const QColor colour = filled ? m_theme.text : m_theme.muted;
  m_painter.setPen(QPen(colour, 1.4));
  m_painter.drawLine(m_shape.at(turns, inner(RingShape::kOrderInner)), m_shape.at(turns, low));
  m_painter.setBrush(filled ? colour : m_theme.surface);
  m_painter.drawPolygon(
      QPolygonF({m_shape.at(turns, low), m_shape.at(turns - half, low + 9), m_shape.at(turns + half, low + 9)}));
}

bool RingPainter::outline(int row, const QColor& colour, int width) {
  if (row < 0 || row >= m_ring.rows() || m_ring.slotOf[at(row)] < 0 || m_ring.slotOf[at(row)] >= m_ring.slotCount())
    return false;
  const int slot = m_ring.slotOf[at(row)];
  const QPainterPath path = m_shape.sector(inner(RingShape::kOrderInner) - 1, m_shape.radius + 1, m_shape.turn(slot),
                                           m_shape.turn(slot + 1), m_shape.cells() ? 0 : -3);
  m_painter.setBrush(Qt::NoBrush);
  m_painter.setPen(QPen(m_theme.dark ? QColor(0, 0, 0, 190) : QColor(255, 255, 255, 210), width + 2));
  m_painter.drawPath(path);
  m_painter.setPen(QPen(colour, width));
  m_painter.drawPath(path);
  return true;
}

void RingPainter::row(int row, const QColor& colour, int width) {
  if (!outline(row, colour, width)) return;
  const int slot = m_ring.slotOf[at(row)];
  const LedgerId id = m_ring.group.map->ledger[at(m_ring.indexOf(row))];
  label(tokenText(*m_ring.snapshot, id), m_shape.turn(slot + 0.5), m_shape.radius + 12, 1, colour);
}

void RingPainter::wrongRow(int wrong) {
  if (!outline(wrong, m_theme.error, 2)) return;
  const QPointF middle = m_shape.at(m_shape.turn(m_ring.slotOf[at(wrong)] + 0.5), m_shape.radius + 1);
  paintFinding(m_painter, QRectF(middle - QPointF(4.5, 4.5), QSizeF(9, 9)), m_theme);
  m_painter.setRenderHint(QPainter::Antialiasing);
}

void RingPainter::ruler() {
  const int step = labelStep(m_shape.slotLength(), 58);
  for (int slot = 0; slot < m_ring.slotCount(); slot += step) {
    const double turns = m_shape.turn(slot);
    m_painter.setPen(QPen(m_theme.faint, 1));
    m_painter.drawLine(m_shape.at(turns, m_shape.radius + kRimGap + kRim + 1),
                       m_shape.at(turns, m_shape.radius + kRimGap + kRim + 1 + kTick));
    if (m_ring.slotCount() - slot >= step / 2)
      label(QString::number(slot), turns, m_shape.radius + 11, 0, m_theme.faint);
  }
}

void RingPainter::labels() {
  const int head = m_ring.head(), pointer = m_ring.pointer();
  const double near = inner(RingShape::kOrderInner) - 4;
  if (m_ring.rows()) marker(head, false);
  marker(pointer, true);
  if (m_ring.rows() && head == pointer) {
    boundary(say("pointer = head"), pointer, 1, m_theme.text);
  } else {
    boundary(say("pointer"), pointer, 1, m_theme.text);
    if (m_ring.rows()) boundary(say("head"), head, -1, m_theme.muted);
  }
  ruler();
  if (m_shape.radius < 110 || !m_ring.rows()) return;
  const auto middle = [&](int row) { return m_shape.turn(m_ring.slotOf[at(row)] + 0.5); };
  label(say("newest %1").arg(m_ring.indexOf(m_ring.rows() - 1)), middle(m_ring.rows() - 1), near, -1, m_theme.text);
  if (m_ring.rows() > 1) label(say("oldest %1").arg(m_ring.indexOf(0)), middle(0), near, 1, m_theme.text);
  const int step = labelStep(2 * std::numbers::pi * near / m_ring.slotCount(), 44);
  for (int index = (m_ring.indexOf(0) + step) / step * step; index < m_ring.indexOf(m_ring.rows()); index += step) {
    const int row = index - m_ring.indexOf(0);
    m_painter.setPen(QPen(m_theme.faint, 1));
    m_painter.drawLine(m_shape.at(middle(row), near + 3), m_shape.at(middle(row), near));
    label(QString::number(index), middle(row), near - 1, 0, m_theme.faint);
  }
}

void RingPainter::centre() {
  QFont large = m_theme.strong;
  large.setPixelSize(std::clamp(static_cast<int>(m_shape.radius / 4.5), 13, 36));
  const double tall = large.pixelSize() * 1.15, line = 15;
  const QString word = m_ring.ring.wraps == 1 ? say("wrap") : say("wraps");
  QRectF box(m_shape.centre.x() - inner(RingShape::kOrderInner), m_shape.centre.y() - (tall + line) / 2,
             2 * inner(RingShape::kOrderInner), tall);
  m_painter.setPen(m_theme.text);
  m_painter.setFont(large);
  const double wide = m_painter.fontMetrics().horizontalAdvance(QString::number(m_ring.ring.wraps));
  m_painter.drawText(box, Qt::AlignCenter, QString::number(m_ring.ring.wraps));
  m_painter.setPen(m_theme.muted);
  m_painter.setFont(m_theme.small);
  m_painter.drawText(QRectF(box.left(), box.bottom(), box.width(), line), Qt::AlignCenter, word);
  const double half = std::max<double>(wide, m_painter.fontMetrics().horizontalAdvance(word)) / 2 + 4;
  m_taken.emplace_back(m_shape.centre.x() - half, box.top(), 2 * half, tall + line);
}

void RingPainter::swatch(QPainter& painter, const QRectF& box, RingMark mark, const Theme& t) {
  static constexpr SlotUse kUses[] = {SlotUse::Free, SlotUse::Row,  SlotUse::Wrapped,
                                      SlotUse::Room, SlotUse::Free, SlotUse::Wrong};
  if (mark == RingMark::None) return;
  painter.setPen(mark == RingMark::Room ? QPen(t.border, 1) : QPen(Qt::NoPen));
  painter.setBrush(mark == RingMark::Written ? t.warning : fillOf(kUses[at(static_cast<int>(mark))], t));
  painter.drawRect(mark == RingMark::Written ? QRectF(box.left(), box.center().y() - 1.5, box.width(), 3) : box);
  const QColor line = mark == RingMark::Wrapped ? t.accent : mark == RingMark::Room ? t.faint : t.surface;
  painter.setPen(QPen(line, 1.2));
  if (mark == RingMark::Wrapped || mark == RingMark::Room || mark == RingMark::Wrong)
    painter.drawLine(box.bottomLeft(), box.topRight());
  if (mark == RingMark::Wrong) painter.drawLine(box.topLeft(), box.bottomRight());
}

}  // namespace kvlab
