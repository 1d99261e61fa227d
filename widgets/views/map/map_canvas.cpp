// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in map_paint.cpp.
#include "widgets/views/map/map_canvas.h"

#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <cmath>

namespace kvlab {
namespace {
constexpr int kGutter = 34, kRight = 10, kRuler = 22, kOverview = 12;
constexpr int kTallLayer = 64, kTallTokens = 78, kFlatTokens = 26;
}  // namespace

MapCanvas::MapCanvas(InspectorContext& context, QWidget* parent) : QWidget(parent), m_context(context) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(160, 90);
  setAccessibleName(tr("Map of the cache"));
  setToolTip(tr("Click focuses a cell, the wheel zooms, dragging pans, a double click shows all"));
  setToolTipDuration(3000);
  setAttribute(Qt::WA_OpaquePaintEvent);
}

void MapCanvas::setPicture(std::shared_ptr<const MapPicture> picture) {
  m_picture = std::move(picture);
  m_cells = m_overview = QImage();
  place();
  update();
}

void MapCanvas::setNote(const QString& note) {
  m_note = note;
  update();
}

double MapCanvas::tokenBand() const {
  if (m_axis.scale < kTokenScale || height() < 190) return 0;
  return m_axis.scale < kWideScale ? kTallTokens : kFlatTokens;
}

MapCanvas::Parts MapCanvas::parts() const {
  Parts p;
  const int width = std::max(1, this->width() - kGutter - kRight);
  const bool overview = !m_axis.fitted;
  const int band = static_cast<int>(tokenBand());
  p.ruler = QRect(kGutter, 0, width, kRuler);
  p.tokens = QRect(kGutter, kRuler, width, band);
  p.readout = QRect(0, height() - kReadout, this->width(), kReadout);
  const int top = kRuler + band + Theme::kSmall;
  const int below = p.readout.top() - Theme::kMedium - (overview ? kOverview + Theme::kMedium : 0);
  const int room = std::max(1, below - top);
  p.layerHeight = std::min<double>(kTallLayer, static_cast<double>(room) / std::max(1, layers()));
  if (p.layerHeight > 3) p.layerHeight = std::floor(p.layerHeight);
  p.cells = QRect(kGutter, top, width, static_cast<int>(std::lround(p.layerHeight * layers())));
  p.overview = overview ? QRect(kGutter, p.readout.top() - Theme::kMedium - kOverview, width, kOverview) : QRect();
  return p;
}

void MapCanvas::place() {
  const double count = m_picture ? m_picture->cells.positions() : 0;
  m_axis.resize(count, std::max(1, width() - kGutter - kRight));
}

int MapCanvas::layerTop(const Parts& p, int layer) const {
  return p.cells.top() + static_cast<int>(std::lround(p.layerHeight * layer));
}

int MapCanvas::layerAt(int y) const {
  const Parts p = parts();
  if (!p.cells.contains(p.cells.left(), y) || p.layerHeight <= 0) return -1;
  return std::clamp(static_cast<int>((y - p.cells.top()) / p.layerHeight), 0, layers() - 1);
}

QRectF MapCanvas::cell(const Parts& p, int layer, int position) const {
  const double left = p.cells.left() + std::ceil(m_axis.pixel(position) - 1e-6);
  const int top = layerTop(p, layer);
  return {left, static_cast<double>(top), std::max(1.0, m_axis.scale),
          static_cast<double>(layerTop(p, layer + 1) - top)};
}

void MapCanvas::fit() {
  m_axis.fit();
  m_cells = QImage();
  emit zoomChanged();
  update();
}

void MapCanvas::zoomBy(double factor) {
  const int focus = m_context.focus().position.value();
  const double at = m_axis.pixel(focus + 0.5);
  m_axis.zoom(focus >= 0 && at >= 0 && at < m_axis.extent ? at : m_axis.extent / 2, factor);
  m_cells = QImage();
  emit zoomChanged();
  update();
}

void MapCanvas::showRange(int begin, int end) {
  m_axis.show(begin, end);
  m_cells = QImage();
  emit zoomChanged();
  update();
}

void MapCanvas::revealFocus() {
  const int position = m_context.focus().position.value();
  if (position < 0 || m_axis.fitted) return;
  const double before = m_axis.first;
  m_axis.reveal(position);
  if (m_axis.first != before) m_cells = QImage();
}

void MapCanvas::resizeEvent(QResizeEvent*) {
  m_cells = m_overview = QImage();
  place();
}

void MapCanvas::wheelEvent(QWheelEvent* event) {
  turnAxis(m_axis, *event, kGutter);
  m_cells = QImage();
  hoverAt(event->position().toPoint());
  emit zoomChanged();
  update();
  event->accept();
}

void MapCanvas::mousePressEvent(QMouseEvent* event) {
  m_onOverview = event->button() == Qt::LeftButton && parts().overview.contains(event->position().toPoint());
  if (!m_onOverview) return m_drag.press(*event, m_axis);
  overviewTo(event->position().toPoint().x());
}

void MapCanvas::overviewTo(int x) {
  const QRect bar = parts().overview;
  const double middle = static_cast<double>(x - bar.left()) / std::max(1, bar.width()) * m_axis.count;
  m_axis.first = middle - m_axis.visible() / 2;
  m_axis.clamp();
  m_cells = QImage();
  update();
}

void MapCanvas::mouseMoveEvent(QMouseEvent* event) {
  const QPoint at = event->position().toPoint();
  if (m_onOverview && event->buttons()) return overviewTo(at.x());
  if (m_drag.move(*event, m_axis)) {
    m_cells = QImage();
    setCursor(Qt::ClosedHandCursor);
    update();
  }
  hoverAt(at);
}

void MapCanvas::mouseReleaseEvent(QMouseEvent* event) {
  unsetCursor();
  m_onOverview = false;
  if (!m_drag.release(*event)) return;
  const QPoint at = event->position().toPoint();
  const int position = m_axis.at(at.x() - kGutter);
  const int layer = layerAt(at.y());
  if (position >= 0 && at.x() >= kGutter && at.y() < parts().cells.bottom())
    emit clicked(layer >= 0 ? Layer(layer) : m_context.focus().layer, Position(position));
}

void MapCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) fit();
}

void MapCanvas::hoverAt(QPoint point) {
  const int layer = layerAt(point.y());
  const int position = point.x() < kGutter || layer < 0 ? -1 : m_axis.at(point.x() - kGutter);
  m_hoverLayer = Layer(position < 0 ? -1 : layer);
  m_context.setHovered(Position(position));
  update();
}

void MapCanvas::leaveEvent(QEvent*) {
  m_hoverLayer = Layer(-1);
  m_context.setHovered(Position(-1));
  update();
}

void MapCanvas::moveFocus(int byLayers, int byPositions) {
  if (!m_picture || m_picture->cells.positions() == 0) return;
  const Focus& focus = m_context.focus();
  const int layer = std::clamp(focus.layer.value() + byLayers, 0, std::max(0, layers() - 1));
  const int position = std::clamp(focus.position.value() + byPositions, 0, m_picture->cells.positions() - 1);
  emit clicked(Layer(layer), Position(position));
}

void MapCanvas::keyPressEvent(QKeyEvent* event) {
  const int all = m_picture ? m_picture->cells.positions() : 0;
  if (const auto step = cellStep(*event, std::max(1, static_cast<int>(m_axis.visible())), all))
    return moveFocus(step->lines, step->items);
  if (const auto factor = zoomStep(*event)) return *factor > 0 ? zoomBy(*factor) : fit();
  QWidget::keyPressEvent(event);
}

}  // namespace kvlab
