// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/tick_picker.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QToolTip>
#include <algorithm>
#include <cmath>

namespace kvlab {

TickPicker::TickPicker(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void TickPicker::setShown(Tick tick) {
  m_shown = -1;
  for (int place = 0; place < count(); ++place)
    if (tickOf(place) == tick) m_shown = place;
  if (m_shown >= 0) setAccessibleDescription(describe(m_shown));
  update();
}

std::optional<Tick> TickPicker::tickAt(const QPointF& point) const {
  const int place = placeAt(point);
  return place < 0 ? std::nullopt : std::optional(tickOf(place));
}

void TickPicker::pickAt(const QPointF& point) {
  const int place = placeAt(point);
  if (place >= 0 && place != m_shown) emit picked(tickOf(place));
}

void TickPicker::step(int by) {
  if (count() == 0) return;
  const int to = std::clamp((m_shown < 0 ? count() : m_shown) + by, 0, count() - 1);
  if (to != m_shown) emit picked(tickOf(to));
}

void TickPicker::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) pickAt(event->position());
}

void TickPicker::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & Qt::LeftButton) pickAt(event->position());
}

void TickPicker::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left: return step(-1);
    case Qt::Key_Right: return step(1);
    case Qt::Key_Home: return step(-count());
    case Qt::Key_End: return step(count());
    default: QWidget::keyPressEvent(event);
  }
}

bool TickPicker::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  const int place = placeAt(help->pos());
  QToolTip::showText(help->globalPos(), place < 0 ? toolTip() : describe(place), this);
  return true;
}

int ScrolledTicks::capacity() const { return std::max(1, static_cast<int>((width() - 2 * kSide) / columnWidth())); }

void ScrolledTicks::scrollTo(int first) {
  m_first = std::clamp(first, 0, std::max(0, count() - capacity()));
  update();
}

void ScrolledTicks::reveal() {
  const int target = shown() < 0 ? count() - 1 : shown();
  scrollTo(std::max(std::min(m_first, target), target - capacity() + 1));
}

int ScrolledTicks::placeAt(const QPointF& point) const {
  const int place = m_first + static_cast<int>(std::floor((point.x() - kSide) / columnWidth()));
  return point.x() < kSide || place >= end() ? -1 : place;
}

/// Scrolls by fewer columns if columns are wide.
void ScrolledTicks::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  scrollTo(m_first - (turn.y() ? turn.y() : turn.x()) / (columnWidth() < 20 ? 30 : 60));
  event->accept();
}

}  // namespace kvlab
