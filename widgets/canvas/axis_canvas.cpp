// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/axis_canvas.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/api/read_json.h"
#include "widgets/base/finding_marks.h"

namespace kvlab {
namespace {
constexpr int kPullFrom = 4;  // pixels; a shorter drag counts as a click
constexpr double kZoomStep = 1.5;
constexpr int kRangeRest = 400;      // ms after the last zoom
constexpr const char* kAll = "all";  // the option `to` of an axis that shows everything

std::optional<CellStep> cellStep(const QKeyEvent& event, int page, int all) {
  const int one = event.modifiers() & Qt::ControlModifier ? 10 : 1;
  switch (event.key()) {
    case Qt::Key_Left: return CellStep{0, -one};
    case Qt::Key_Right: return CellStep{0, one};
    case Qt::Key_Up: return CellStep{-1, 0};
    case Qt::Key_Down: return CellStep{1, 0};
    case Qt::Key_PageUp: return CellStep{0, -page, true};
    case Qt::Key_PageDown: return CellStep{0, page, true};
    case Qt::Key_Home: return CellStep{0, -all, true};
    case Qt::Key_End: return CellStep{0, all, true};
    default: return {};
  }
}

/// Zoom factor of plus and minus; 0 shows the whole axis.
std::optional<double> zoomStep(const QKeyEvent& event) {
  switch (event.key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal: return kZoomStep;
    case Qt::Key_Minus: return 1 / kZoomStep;
    case Qt::Key_0: return 0;
    default: return {};
  }
}
}  // namespace

AxisCanvas::AxisCanvas(InspectorContext& context, QWidget* parent) : QWidget(parent), m_context(context) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setToolTipDuration(3000);
  setAttribute(Qt::WA_OpaquePaintEvent);
  m_rest.setSingleShot(true);
  connect(&m_rest, &QTimer::timeout, this, &AxisCanvas::ranged);
  for (const auto changed :
       {&InspectorContext::focusChanged, &InspectorContext::hoverChanged, &InspectorContext::selectionChanged})
    connect(&context, changed, this, qOverload<>(&QWidget::update));
}

void AxisCanvas::place() {
  m_axis.resize(items(), std::max(1, axisArea().width()));
  moved();
}

void AxisCanvas::moved() {
  axisMoved();
  update();
}

void AxisCanvas::setFindings(FindingMarks found) {
  if (m_findings == found) return;
  m_findings = std::move(found);
  update();
}

void AxisCanvas::fit() {
  m_axis.fit();
  moved();
}

void AxisCanvas::zoomBy(double factor) {
  const double at = m_axis.pixel(focusMiddle());
  const bool inSight = focusMiddle() >= 0 && at >= 0 && at < m_axis.extent;
  m_axis.zoom(inSight ? at : m_axis.extent / 2, factor);
  moved();
}

void AxisCanvas::showRange(double begin, double end) {
  m_axis.show(begin, end);
  moved();
}

void AxisCanvas::panTo(double first) {
  m_axis.first = first;
  m_axis.clamp();
  moved();
}

void AxisCanvas::sayRange() { m_rest.start(kRangeRest); }

std::vector<ViewOption> AxisCanvas::rangeOptions(const std::string& item) {
  using nlohmann::json;
  const auto from = [this] { return static_cast<std::int64_t>(std::lround(m_axis.first)); };
  const auto end = [this] { return static_cast<std::int64_t>(std::lround(m_axis.first + m_axis.visible())); };
  const auto to = [=, this] { return m_axis.fitted ? json(kAll) : json(end()); };
  const auto show = [=, this](std::int64_t begin, std::int64_t last) -> std::string {
    if (begin >= last) return "keep `from` below `to`";
    if (begin < 0 || last > std::numeric_limits<int>::max()) return "use a " + item + ", or \"all\" as `to`";
    showRange(static_cast<double>(begin), static_cast<double>(last));
    return {};
  };
  const auto number = [](const json& value) { return jsonOr(value, std::int64_t{-1}); };
  const auto setTo = [=, this](const json& value) -> std::string {
    if (value != kAll) return show(from(), number(value));
    fit();
    return {};
  };
  return {{"from", from, [=](const json& value) { return show(number(value), end()); }}, {"to", to, setTo}};
}

void AxisCanvas::revealFocus() {
  update();
  AxisMap to = m_axis;
  if (focusCell().item < 0 || to.fitted) return;
  to.reveal(focusCell().item);
  if (to.first != m_axis.first) panTo(to.first);
}

double AxisCanvas::focusMiddle() const {
  const int item = focusCell().item;
  return item < 0 ? -1 : item + 0.5;
}

void AxisCanvas::choose(CanvasCell cell) {
  emit chosen(cell, m_choice);
  emit readoutChanged();
}

void AxisCanvas::menuAbout(CanvasCell cell) {
  if (cell.item >= 0) emit menuOver(cell);
}

/// The canvas may show an older state than the other views do: there the row counts, and not its position.
int AxisCanvas::itemOf(Position position, LedgerId row) const {
  const SnapshotPtr own = of();
  if (!own) return -1;
  if (own != m_context.snapshot()) return placeIn(*own, row, position.value());
  return position.value() < items() ? position.value() : -1;
}

int AxisCanvas::hoveredItem() const {
  const SnapshotPtr shown = m_context.snapshot();
  const Position under = m_context.hovered();
  if (!of()) return m_hovered.item;
  if (!shown || under.value() < 0 || under.value() >= shown->length()) return -1;
  return itemOf(under, shown->context[at(under)]);
}

Position AxisCanvas::positionOf(CanvasCell cell) const {
  const SnapshotPtr shown = m_context.snapshot(), own = of();
  if (cell.item < 0 || !shown || !own || cell.item >= own->length()) return Position(-1);
  return Position(own == shown ? cell.item : placeIn(*shown, own->context[at(cell.item)], cell.item));
}

QString AxisCanvas::tipOf(CanvasCell cell) const {
  const SnapshotPtr own = of();
  if (!own || m_findings.empty() || cell.line < 0 || cell.item < 0 || cell.item >= own->length()) return {};
  const LedgerId row = own->context[at(cell.item)];
  const CacheLayer layer = layerOf(cell.line);
  return m_findings.of(row, layer) ? m_findings.text(row, layer) : m_findings.text(layer);
}

int AxisCanvas::page() const { return hasAxis() ? std::max(1, static_cast<int>(m_axis.visible())) : 10; }

CanvasCell AxisCanvas::stepped(const CellStep& by) const {
  if (items() == 0 || lines() == 0) return {};
  const CanvasCell from = focusCell();
  return {std::clamp(from.line + by.lines, 0, lines() - 1), std::clamp(from.item + by.items, 0, items() - 1)};
}

void AxisCanvas::hover(CanvasCell cell) {
  m_hovered = cell;
  m_context.setHovered(positionOf(cell));
  emit readoutChanged();
  update();
}

void AxisCanvas::pull(QPoint to) {
  const QPoint by = to - m_from;
  const bool far = std::abs(by.x()) > kPullFrom || (std::abs(by.y()) > kPullFrom && scrollLines(0));
  const bool marks = m_held == Held::Marked || (m_held == Held::Pressed && far && m_shift);
  if (marks && markRange(m_from.x(), to.x(), false)) m_held = Held::Marked;
  else if (m_held == Held::Pressed && far) m_held = Held::Pulled;
  if (m_held != Held::Pulled || !hasAxis()) return;
  setCursor(Qt::ClosedHandCursor);
  scrollLines(m_scrolled - by.y());
  m_scrolled = by.y();
  panTo(m_first - by.x() / m_axis.scale);
}

void AxisCanvas::overviewTo(int x) {
  const QRect bar = overviewArea();
  const double middle = static_cast<double>(x - bar.left()) / std::max(1, bar.width()) * m_axis.count;
  panTo(middle - m_axis.visible() / 2);
}

void AxisCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const auto theme = Theme::current();
  painter.fillRect(rect(), theme->surface);
  paintContent(painter, *theme);
}

void AxisCanvas::wheelEvent(QWheelEvent* event) {
  if (!hasAxis()) return QWidget::wheelEvent(event);
  const QPoint turn = event->angleDelta();
  if (event->modifiers() & Qt::ShiftModifier || std::abs(turn.x()) > std::abs(turn.y()))
    m_axis.pan((turn.x() ? turn.x() : turn.y()) * 0.6);
  else m_axis.zoom(event->position().x() - axisArea().left(), std::pow(1.0018, turn.y()));
  moved();
  sayRange();
  hover(cellAt(event->position().toPoint()));
  event->accept();
}

void AxisCanvas::mousePressEvent(QMouseEvent* event) {
  m_from = event->position().toPoint();
  m_first = m_axis.first;
  m_scrolled = 0;
  m_shift = event->modifiers() & Qt::ShiftModifier;
  m_held = event->button() == Qt::LeftButton || event->button() == Qt::MiddleButton ? Held::Pressed : Held::Nothing;
  if (event->button() == Qt::RightButton) return menuAbout(cellAt(m_from));
  if (event->button() != Qt::LeftButton || !overviewArea().contains(m_from)) return;
  m_held = Held::Overview;
  overviewTo(m_from.x());
}

void AxisCanvas::mouseMoveEvent(QMouseEvent* event) {
  const QPoint at = event->position().toPoint();
  if (!event->buttons()) m_held = Held::Nothing;
  if (m_held == Held::Overview) return overviewTo(at.x());
  if (m_held != Held::Nothing) pull(at);
  hover(cellAt(at));
}

/// A click above the lines refers to the focused line.
void AxisCanvas::mouseReleaseEvent(QMouseEvent* event) {
  unsetCursor();
  const Held held = std::exchange(m_held, Held::Nothing);
  if (held == Held::Pulled || held == Held::Overview) sayRange();
  if (held == Held::Marked) markRange(m_from.x(), event->position().toPoint().x(), true);
  const bool click = held == Held::Pressed && event->button() == Qt::LeftButton;
  CanvasCell cell = click ? cellAt(event->position().toPoint()) : CanvasCell();
  if (!cell.there()) return;
  if (cell.line < 0) cell.line = std::max(0, focusCell().line);
  m_choice = choiceOf(event->modifiers());
  choose(cell);
}

void AxisCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || activate(cellAt(event->position().toPoint()))) return;
  if (hasAxis()) fit(), sayRange();
  else mousePressEvent(event);  // the second of two quick clicks
}

void AxisCanvas::keyPressEvent(QKeyEvent* event) {
  if (const auto step = cellStep(*event, page(), items())) {
    m_choice = choiceOf(event->modifiers() & Qt::ShiftModifier);  // Control makes a step longer
    if (const CanvasCell to = stepped(*step); to.there()) choose(to);
    return;
  }
  const auto factor = hasAxis() ? zoomStep(*event) : std::nullopt;
  if (factor) {
    *factor > 0 ? zoomBy(*factor) : fit();
    return sayRange();
  }
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (!enter || !activate(focusCell())) QWidget::keyPressEvent(event);
}

bool AxisCanvas::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString text = tipOf(cellAt(help->pos()));
  if (text.isEmpty()) return QWidget::event(event);
  QToolTip::showText(help->globalPos(), text, this);
  return true;
}

}  // namespace kvlab
