// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in ring_paint.cpp.
#include "widgets/views/rings/ring_canvas.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <algorithm>

#include "widgets/canvas/axis_parts.h"

namespace kvlab {
namespace {
constexpr int kSmall = 92, kSmallTall = 96, kFigureWidth = 86, kFigureHeight = 36, kFiguresWide = 204;
constexpr int kNames = 26, kLow = 400, kLeastRing = 200;  // in a low view small rings are only named
constexpr int kBeside = 62;                               // room for labels left and right of the large ring
}  // namespace

RingCanvas::RingCanvas(InspectorContext& context, QWidget* parent) : QWidget(parent), m_context(context) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(160, 160);
  setAccessibleName(tr("Rings of slots"));
  setToolTip(
      tr("Click focuses a row; left and right follow the logical order, Home and End go to the oldest and the newest "
         "row, up and down change the layers"));
  setToolTipDuration(3000);
  setAttribute(Qt::WA_OpaquePaintEvent);
}

void RingCanvas::setEntries(std::vector<Entry> entries) {
  m_entries = std::move(entries);
  m_hoverSlot = -1;
  update();
}

int RingCanvas::selected() const {
  for (std::size_t i = 0; i < m_entries.size(); ++i)
    if (m_entries[i].group.has(m_context.focus().layer)) return static_cast<int>(i);
  return m_entries.empty() ? -1 : 0;
}

const RingPicture* RingCanvas::ring() const {
  const int entry = selected();
  if (entry < 0) return nullptr;
  const auto& ring = m_entries[static_cast<std::size_t>(entry)].ring;
  return ring ? &*ring : nullptr;
}

RingCanvas::Parts RingCanvas::parts() const {
  Parts p;
  const int groups = static_cast<int>(m_entries.size());
  const int figures = ring() ? static_cast<int>(ringFigures(*ring()).size()) : 0;
  p.readout = QRect(0, height() - kReadout, width(), kReadout);
  QRect rest = rect().adjusted(Theme::kMedium, Theme::kMedium, -Theme::kMedium, -kReadout - Theme::kSmall);
  const bool wide = rest.width() > rest.height() * 3 / 2;
  // In a low dock the small rings would take the width that the large one needs: then names above it do.
  const bool squeezed = wide && rest.width() < kSmall + kFiguresWide + kLeastRing + 2 * kBeside;
  if (groups > 1 && wide && !squeezed) {
    p.rings = QRect(rest.left(), rest.top(), kSmall, rest.height());
    p.count = std::clamp(rest.height() / kSmallTall, 1, groups);
    rest.setLeft(rest.left() + kSmall + Theme::kMedium);
  } else if (groups > 1) {
    p.named = squeezed || rest.height() < kLow;
    p.rings = QRect(rest.left(), rest.top(), rest.width(), p.named ? kNames : kSmallTall);
    p.across = p.count = std::clamp(rest.width() / kSmall, 1, groups);
    rest.setTop(p.rings.bottom() + 1 + Theme::kSmall);
  }
  p.first = std::clamp(selected() - p.count / 2, 0, std::max(0, groups - p.count));
  if (wide) {
    p.columns = 2;
    p.figures = QRect(rest.right() - kFiguresWide + 1, rest.top(), kFiguresWide, rest.height());
    rest.setRight(p.figures.left() - Theme::kMedium);
  } else {
    p.columns = std::max(1, rest.width() / kFigureWidth);
    p.columns = (figures + (figures + p.columns - 1) / p.columns - 1) /
        std::max(1, (figures + p.columns - 1) / p.columns);  // even lines
    p.columns = std::max(1, p.columns);
    const int lines =
        std::min((figures + p.columns - 1) / p.columns, std::max(1, (rest.height() - kLeastRing) / kFigureHeight));
    const int tall = lines * kFigureHeight;
    p.figureCount = lines * p.columns;
    p.figures = QRect(rest.left(), rest.bottom() - tall + 1, rest.width(), tall);
    rest.setBottom(p.figures.top() - Theme::kSmall);
  }
  p.large = rest;
  return p;
}

RingShape RingCanvas::shapeIn(const QRect& area) const {
  RingShape shape;
  shape.centre = QRectF(area).center();
  shape.radius = std::max(20.0, std::min(area.width() / 2.0 - kBeside, area.height() / 2.0 - 30));
  shape.count = ring() ? std::max(1, ring()->slotCount()) : 1;
  return shape;
}

RingShape RingCanvas::shape() const { return shapeIn(parts().large); }

QRect RingCanvas::smallBox(const Parts& p, int entry) const {
  const int place = entry - p.first;
  if (p.count == 0 || place < 0 || place >= p.count) return {};
  const int tall = p.named ? kNames : kSmallTall;
  return {p.rings.left() + place % p.across * kSmall, p.rings.top() + place / p.across * tall, kSmall, tall};
}

QPointF RingCanvas::smallRing(int entry) const { return QRectF(smallBox(parts(), entry)).center(); }

int RingCanvas::smallAt(QPoint point) const {
  const Parts p = parts();
  for (int i = 0; i < static_cast<int>(m_entries.size()); ++i)
    if (smallBox(p, i).contains(point)) return i;
  return -1;
}

int RingCanvas::rowAt(QPoint point) const {
  const int slot = ring() ? shape().slotAt(point) : -1;
  return slot < 0 ? -1 : ring()->rowAt[static_cast<std::size_t>(slot)];
}

void RingCanvas::chooseGroup(int entry) {
  if (entry >= 0 && entry < static_cast<int>(m_entries.size()) && entry != selected())
    emit groupChosen(Layer(m_entries[static_cast<std::size_t>(entry)].group.layers.front()));
}

void RingCanvas::focusRow(int row) {
  if (!ring() || ring()->rows() == 0) return;
  row = std::clamp(row, 0, ring()->rows() - 1);
  const std::int32_t position = ring()->positionOf[static_cast<std::size_t>(row)];
  const Layer layer =
      ring()->group.has(m_context.focus().layer) ? m_context.focus().layer : Layer(ring()->group.layers.front());
  if (position >= 0) emit clicked(layer, Position(position));
}

void RingCanvas::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const QPoint at = event->position().toPoint();
  if (const int entry = smallAt(at); entry >= 0) return chooseGroup(entry);
  if (const int row = rowAt(at); row >= 0) focusRow(row);
}

void RingCanvas::mouseMoveEvent(QMouseEvent* event) {
  const QPoint at = event->position().toPoint();
  m_hoverSlot = ring() ? shape().slotAt(at) : -1;
  const int row = rowAt(at);
  m_context.setHovered(Position(row < 0 ? -1 : ring()->positionOf[static_cast<std::size_t>(row)]));
  update();
}

void RingCanvas::leaveEvent(QEvent*) {
  m_hoverSlot = -1;
  m_context.setHovered(Position(-1));
  update();
}

void RingCanvas::keyPressEvent(QKeyEvent* event) {
  const int row = ring() ? ring()->rowOf(m_context.focus().position) : -1;
  const int far = event->modifiers() & Qt::ControlModifier ? 10 : 1;
  switch (event->key()) {
    case Qt::Key_Left: return focusRow(row < 0 ? 0 : row - far);
    case Qt::Key_Right: return focusRow(row < 0 ? 0 : row + far);
    case Qt::Key_PageUp: return focusRow(row - 10);
    case Qt::Key_PageDown: return focusRow(row + 10);
    case Qt::Key_Home: return focusRow(0);
    case Qt::Key_End: return focusRow(ring() ? ring()->rows() - 1 : 0);
    case Qt::Key_Up: return chooseGroup(selected() - 1);
    case Qt::Key_Down: return chooseGroup(selected() + 1);
    default: QWidget::keyPressEvent(event);
  }
}

}  // namespace kvlab
