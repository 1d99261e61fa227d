// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in lanes_paint.cpp.
#include "widgets/views/lanes/lanes_canvas.h"

#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"

namespace kvlab {
namespace {
constexpr int kNarrowGutter = 34, kRight = 10, kRuler = 22, kGap = 8;
constexpr int kTallTokens = 70, kFlatTokens = 24, kLowBand = 8, kHighBand = 56, kHighLine = 26;
}  // namespace

LanesCanvas::LanesCanvas(InspectorContext& context, QWidget* parent) : QWidget(parent), m_context(context) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(160, 80);
  setAccessibleName(tr("Maps of the lanes"));
  setToolTip(tr("Click focuses a token, the wheel zooms, dragging pans, a double click shows all"));
  setToolTipDuration(3000);
  setAttribute(Qt::WA_OpaquePaintEvent);
}

void LanesCanvas::show(LanesViewPtr view) {
  m_view = std::move(view);
  compare();
  m_lane = std::clamp(m_lane, 0, std::max(0, lanes() - 1));
  place();
  update();
}

void LanesCanvas::setLayer(std::optional<int> layer) {
  if (m_layer == layer) return;
  m_layer = layer;
  compare();
  update();
}

/// Only what is shown: a layer of a long context is cheap, all of them are not.
void LanesCanvas::compare() {
  m_per = m_view ? linesPerLayer(*m_view) : 1;
  m_cells = m_view ? laneCells(*m_view, m_layer) : std::vector<LaneCells>();
}

void LanesCanvas::setLane(int lane) {
  m_lane = lane;
  update();
}

int LanesCanvas::shownLayers() const {
  if (m_cells.empty()) return 0;
  return m_layer ? m_per : static_cast<int>(m_cells.front().layers.size());
}

/// Where lanes have no room below their names, these stand at the left.
bool LanesCanvas::low() const {
  const int legend = legendHeight(legendWidths(), std::max(1, width() - kNarrowGutter - kRight));
  return lanes() * (kCaption + kGap + kLowBand) > height() - kRuler - legend;
}

int LanesCanvas::gutter() const { return low() ? std::clamp(width() / 4, kNarrowGutter, 190) : kNarrowGutter; }

LanesCanvas::Parts LanesCanvas::parts() const {
  Parts p;
  p.caption = low() ? 0 : kCaption;
  const int left = gutter(), wide = std::max(1, width() - left - kRight),
            legend = legendHeight(legendWidths(), wide) + Theme::kTight;
  p.legend = QRect(left, height() - legend, wide, legend);
  const int least = lanes() * (kCaption + kGap + kLowBand + 10);
  const bool room = height() - kRuler - legend - kTallTokens > least;
  const int band = m_axis.scale < kTokenScale || !room ? 0 : m_axis.scale < kWideScale ? kTallTokens : kFlatTokens;
  p.ruler = QRect(left, 0, wide, kRuler);
  p.tokens = QRect(left, kRuler, wide, band);
  const int top = kRuler + band + (p.caption ? Theme::kTight : Theme::kMedium);
  p.each = std::max(4, (p.legend.top() - top) / std::max(1, lanes()));
  const int gap = p.caption ? kGap : std::min(kGap, p.each / 4);
  p.bandHeight = std::clamp(p.each - p.caption - gap, 3, std::max(kHighBand, kHighLine * shownLayers()));
  p.each = p.caption + p.bandHeight + gap;
  p.lanes = QRect(left, top, wide, lanes() * p.each);
  return p;
}

QRect LanesCanvas::band(int lane) const {
  const Parts p = parts();
  return {p.lanes.left(), p.lanes.top() + lane * p.each + p.caption, p.lanes.width(), p.bandHeight};
}

int LanesCanvas::laneAt(int y) const {
  const Parts p = parts();
  const int lane = (y - p.lanes.top()) / p.each;
  return y < p.lanes.top() || lane >= lanes() ? -1 : lane;
}

int LanesCanvas::layerAt(int lane, int y) const {
  const QRect box = band(lane);
  const int line = (y - box.top()) * shownLayers() / std::max(1, box.height());
  return lineIn(std::clamp(line, 0, std::max(0, shownLayers() - 1))) / m_per;
}

/// The part of a band that is a layer's; whole pixels.
QRectF LanesCanvas::lineOf(const QRect& band, int line) const {
  const auto y = [&](int i) {
    return std::round(band.top() + static_cast<double>(band.height()) * i / std::max(1, shownLayers()));
  };
  return {static_cast<double>(band.left()), y(line), static_cast<double>(band.width()), y(line + 1) - y(line)};
}

/// The token at a position of the reference's context.
int LanesCanvas::tokenOf(Position position) const {
  const SnapshotPtr snapshot = m_context.snapshot();
  if (!m_view || !snapshot || position.value() < 0 || position.value() >= snapshot->length()) return -1;
  return placeOf(m_view->lanes.front(), snapshot->context[static_cast<std::size_t>(position.value())]);
}

int LanesCanvas::focusToken() const {
  return m_view && m_context.focus().ledger.value() >= 0 ? placeOf(m_view->lanes.front(), m_context.focus().ledger)
                                                         : -1;
}

void LanesCanvas::fit() {
  m_axis.fit();
  update();
}

void LanesCanvas::zoomBy(double factor) {
  const double at = m_axis.pixel(focusToken() + 0.5);
  m_axis.zoom(focusToken() >= 0 && at >= 0 && at < m_axis.extent ? at : m_axis.extent / 2, factor);
  update();
}

void LanesCanvas::revealFocus() {
  if (focusToken() >= 0 && !m_axis.fitted) m_axis.reveal(focusToken());
}

QString LanesCanvas::stateOf(int lane, int layer, int token) const {
  const auto& lines = m_cells[static_cast<std::size_t>(lane)].layers;
  int there = 0;
  for (int line = layer * m_per; line < (layer + 1) * m_per; ++line) {
    if (static_cast<std::size_t>(line) >= lines.size() || !lines[static_cast<std::size_t>(line)]) return tr("none");
    const std::vector<LaneCell>& cells = *lines[static_cast<std::size_t>(line)];
    if (static_cast<std::size_t>(token) >= cells.size()) return tr("never came");
    const LaneCell cell = cells[static_cast<std::size_t>(token)];
    there += cell == LaneCell::Same || cell == LaneCell::Extra;
  }
  if (there > 0 && there < m_per) return tr("in %1 of %2 heads").arg(there).arg(m_per);
  return there ? tr("there") : tr("gone");
}

QString LanesCanvas::readout() const {
  const int hovered = m_hoverLane >= 0 || m_context.hovered().value() >= 0 ? tokenOf(m_context.hovered()) : -1;
  const int token = hovered >= 0 ? hovered : focusToken();
  if (!m_view || token < 0 || token >= tokens()) return {};
  const LaneView& first = m_view->lanes.front();
  const int layer = m_context.focus().layer.value();
  const QString gap = QStringLiteral("   ");
  QString out = (hovered >= 0 ? tr("token %1") : tr("focus   token %1")).arg(token) + gap +
      tokenText(*first.snapshot, first.taken[static_cast<std::size_t>(token)]) + gap +
      tr("layer %1").arg(layerText(*first.snapshot, layer));
  for (int lane = 0; lane < lanes(); ++lane) out += gap + tr("lane %1 %2").arg(lane).arg(stateOf(lane, layer, token));
  return out;
}

void LanesCanvas::place() { m_axis.resize(tokens(), std::max(1, width() - gutter() - kRight)); }
void LanesCanvas::resizeEvent(QResizeEvent*) { place(); }

void LanesCanvas::wheelEvent(QWheelEvent* event) {
  turnAxis(m_axis, *event, gutter());
  hoverAt(event->position().toPoint());
  event->accept();
}

void LanesCanvas::mousePressEvent(QMouseEvent* event) { m_drag.press(*event, m_axis); }

void LanesCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (m_drag.move(*event, m_axis)) setCursor(Qt::ClosedHandCursor);
  hoverAt(event->position().toPoint());
}

void LanesCanvas::mouseReleaseEvent(QMouseEvent* event) {
  unsetCursor();
  const QPoint at = event->position().toPoint();
  const int lane = laneAt(at.y()), token = m_axis.at(at.x() - gutter());
  if (m_drag.release(*event) && lane >= 0 && token >= 0 && at.x() >= gutter())
    emit clicked(lane, layerAt(lane, at.y()), token);
}

void LanesCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) fit();
}

/// The selection of all views follows the token under the pointer, where the reference still has it in its context.
void LanesCanvas::hoverAt(QPoint point) {
  m_hoverLane = laneAt(point.y());
  const int token = m_hoverLane < 0 || point.x() < gutter() ? -1 : m_axis.at(point.x() - gutter());
  Position position(-1);
  if (token >= 0 && m_context.snapshot()) {
    const LedgerId id = m_view->lanes.front().taken[static_cast<std::size_t>(token)];
    const auto& context = m_context.snapshot()->context;
    const auto found = std::find(context.begin(), context.end(), id);
    if (found != context.end()) position = Position(static_cast<std::int32_t>(found - context.begin()));
  }
  m_context.setHovered(position);
  update();
}

void LanesCanvas::leaveEvent(QEvent*) {
  m_hoverLane = -1;
  m_context.setHovered(Position(-1));
  update();
}

void LanesCanvas::moveFocus(int byLayers, int byTokens) {
  if (tokens() == 0) return;
  const int layers = static_cast<int>(m_cells.front().layers.size()) / m_per;
  emit clicked(m_lane, std::clamp(m_context.focus().layer.value() + byLayers, 0, layers - 1),
               std::clamp(focusToken() + byTokens, 0, tokens() - 1));
}

void LanesCanvas::keyPressEvent(QKeyEvent* event) {
  if (const auto step = cellStep(*event, std::max(1, static_cast<int>(m_axis.visible())), tokens()))
    return moveFocus(step->lines, step->items);
  if (const auto factor = zoomStep(*event)) return *factor > 0 ? zoomBy(*factor) : fit();
  QWidget::keyPressEvent(event);
}

}  // namespace kvlab
