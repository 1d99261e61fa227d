// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/events/timeline.h"

#include <QMouseEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/theme.h"
#include "widgets/canvas/axis_map.h"

namespace kvlab {
namespace {
constexpr int kInset = Theme::kMedium;            // margin of the axis in its column
constexpr int kRateFrom = 560, kBytesFrom = 460;  // widths of the tree
constexpr int kLeastName = 120, kMostName = 320, kLeastTimeline = 100;
constexpr double kMarkPixels = 90;
constexpr double kSmallestSpan = 1e-3;  // a nanosecond

QColor colourOf(EventKind kind, const Theme& theme) {
  if (kind == EventKind::TickNode) return theme.ghost;
  return seriesColour(static_cast<int>(kind) - 1, theme.dark);
}

/// The visible part of [from, from + us), at least two pixels wide.
QRectF bar(const TimeAxis& axis, const QRectF& area, double from, double us) {
  const double left = area.left() + axis.toX(from, area.width());
  const double right = area.left() + axis.toX(from + us, area.width());
  const double width = std::max(2.0, right - left);
  return QRectF(left, area.top(), width, area.height()).intersected(area);
}

void paintGrid(QPainter& painter, const TimeAxis& axis, const QRectF& area, const QRect& cell, const Theme& theme) {
  painter.setPen(QPen(theme.grid, 1));
  for (const double us : axis.marks(area.width(), kMarkPixels)) {
    const int x = static_cast<int>(std::lround(area.left() + axis.toX(us, area.width())));
    painter.drawLine(x, cell.top(), x, cell.bottom());
  }
}

void paintBars(QPainter& painter, const EventNode& node, const EventTree& tree, const TimeAxis& axis,
               const QRectF& area, const Theme& theme) {
  const QColor colour = colourOf(node.kind, theme);
  const bool layered = !node.children.empty() && tree.nodes[at(node.children.front())].kind == EventKind::LayerNode;
  if (!layered) {
    painter.fillRect(bar(axis, area, node.startUs, node.us), colour);
    return;
  }
  double end = node.startUs;
  for (const int child : node.children) {
    const EventNode& part = tree.nodes[at(child)];
    end = std::max(end, part.startUs + part.us);
  }
  painter.fillRect(bar(axis, area, node.startUs, end - node.startUs), Theme::faded(colour, 60));
  for (const int child : node.children) {
    const EventNode& part = tree.nodes[at(child)];
    QRectF piece = bar(axis, area, part.startUs, part.us);
    if (piece.width() > 4) piece.setWidth(piece.width() - 1);  // gap between layers
    painter.fillRect(piece, colour);
  }
}
}  // namespace

void TimeAxis::setFull(double from, double to) {
  const bool keep = zoomed();
  fullBegin = from;
  fullEnd = std::max(to, from + kSmallestSpan);
  if (!keep) reset();
  clip();
}

void TimeAxis::reset() {
  begin = fullBegin;
  end = fullEnd;
}

void TimeAxis::zoom(double factor, double x, double width) {
  const double anchor = toUs(x, width);
  const double wanted = std::max(span() * factor, kSmallestSpan);
  const double share = (anchor - begin) / span();
  begin = anchor - share * wanted;
  end = begin + wanted;
  clip();
}

void TimeAxis::pan(double pixels, double width) {
  const double by = pixels / width * span();
  const double kept = span();
  begin = std::clamp(begin - by, fullBegin, std::max(fullBegin, fullEnd - kept));
  end = begin + kept;
}

void TimeAxis::show(double from, double to) {
  const double margin = std::max(to - from, kSmallestSpan) / 20;
  begin = from - margin;
  end = to + margin;
  clip();
}

std::vector<double> TimeAxis::marks(double width, double pixels) const {
  std::vector<double> values;
  if (width <= 0 || span() <= 0) return values;
  const double step = roundStep(span() * pixels / width);
  for (double k = std::ceil(begin / step - 1e-9); k * step <= end + step * 1e-9; ++k) values.push_back(k * step);
  return values;
}

void TimeAxis::clip() {
  begin = std::clamp(begin, fullBegin, fullEnd - kSmallestSpan);
  end = std::clamp(end, begin + kSmallestSpan, fullEnd);
}

TimelineHeader::TimelineHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
  setSectionsClickable(false);
  setFont(Theme::current()->small);
  setToolTip(
      tr("Time since the start of the tick. Ctrl+wheel zooms, Shift+wheel pans, Z shows the selected event; a double "
         "click here or 0 shows the whole tick"));
}

void TimelineHeader::paintSection(QPainter* painter, const QRect& rect, int section) const {
  QHeaderView::paintSection(painter, rect, section);
  if (section != EventModel::Timeline) return;
  const auto theme = Theme::current();
  painter->save();
  painter->setClipRect(rect);
  painter->setFont(theme->small);
  const QRect area = rect.adjusted(kInset, 0, -kInset, 0);
  for (const double us : axis.marks(area.width(), kMarkPixels)) {
    const int x = static_cast<int>(std::lround(area.left() + axis.toX(us, area.width())));
    painter->setPen(theme->border);
    painter->drawLine(x, rect.bottom() - 5, x, rect.bottom() - 1);
    painter->setPen(theme->muted);
    painter->drawText(QRect(x + 4, rect.top(), 120, rect.height()), Qt::AlignVCenter, formatMicroseconds(us));
  }
  painter->restore();
}

void TimelineHeader::mouseDoubleClickEvent(QMouseEvent* event) {
  if (logicalIndexAt(event->position().toPoint()) == EventModel::Timeline) emit resetAsked();
  else QHeaderView::mouseDoubleClickEvent(event);
}

void TimelineHeader::changeEvent(QEvent* event) {
  QHeaderView::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) setFont(Theme::current()->small);
}

namespace {
class TimelineDelegate : public QStyledItemDelegate {
 public:
  TimelineDelegate(const TimelineHeader& header, QObject* parent) : QStyledItemDelegate(parent), m_header(header) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);
    const auto& model = static_cast<const EventModel&>(*index.model());
    const EventNode& node = *model.node(index);
    const auto theme = Theme::current();
    const QRectF area = QRectF(option.rect).adjusted(kInset, 6, -kInset, -6);
    painter->save();
    painter->setClipRect(option.rect);
    paintGrid(*painter, m_header.axis, area, option.rect, *theme);
    if (node.us > 0) paintBars(*painter, node, model.tree(), m_header.axis, area, *theme);
    painter->restore();
  }

 private:
  const TimelineHeader& m_header;
};

/// Paints an event's name and, muted, its detail; lines have the height of table lines.
class EventNameDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const EventNode& node = *static_cast<const EventModel&>(*index.model()).node(index);
    const auto theme = Theme::current();
    QStyleOptionViewItem blank = option;
    initStyleOption(&blank, index);
    blank.text.clear();
    const QWidget* widget = option.widget;
    widget->style()->drawControl(QStyle::CE_ItemViewItem, &blank, painter, widget);
    painter->save();
    painter->setFont(node.kind == EventKind::TickNode ? theme->strong : theme->ui);
    const QVariant wrong = index.data(Qt::ForegroundRole);
    const QString name = (wrong.isValid() ? QStringLiteral("✕ ") : QString()) + node.name;
    painter->setPen(wrong.isValid() ? theme->error : theme->text);
    QRect inner = option.rect.adjusted(4, 0, -4, 0);
    painter->drawText(inner, Qt::AlignVCenter, name);
    inner.setLeft(inner.left() + painter->fontMetrics().horizontalAdvance(name) + Theme::kMedium);
    painter->setFont(theme->small);
    painter->setPen(node.kind == EventKind::TickNode ? theme->error : theme->faint);
    painter->drawText(inner, Qt::AlignVCenter,
                      painter->fontMetrics().elidedText(node.detail, Qt::ElideRight, inner.width()));
    painter->restore();
  }
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    return {QStyledItemDelegate::sizeHint(option, index).width(), Theme::kRow};
  }
};
}  // namespace

TimelineTree::TimelineTree(QWidget* parent) : QTreeView(parent), m_header(new TimelineHeader(this)) {
  setHeader(m_header);
  setSelectionBehavior(SelectRows);
  setSelectionMode(ExtendedSelection);
  setEditTriggers(NoEditTriggers);
  setVerticalScrollMode(ScrollPerPixel);
  setHorizontalScrollMode(ScrollPerPixel);
  setTabKeyNavigation(false);
  setUniformRowHeights(true);
  setAlternatingRowColors(true);
  setIndentation(16);
  setItemDelegateForColumn(EventModel::Name, new EventNameDelegate(this));
  setItemDelegateForColumn(EventModel::Timeline, new TimelineDelegate(*m_header, this));
  connect(m_header, &TimelineHeader::resetAsked, this, &TimelineTree::showWhole);
}

double TimelineTree::timelineWidth() const {
  return std::max(1, m_header->sectionSize(EventModel::Timeline) - 2 * kInset);
}

std::optional<double> TimelineTree::inTimeline(const QPointF& point) const {
  const double x = point.x() - columnViewportPosition(EventModel::Timeline) - kInset;
  return x >= -kInset && x < timelineWidth() + kInset ? std::optional(x) : std::nullopt;
}

void TimelineTree::refresh() {
  viewport()->update();
  m_header->viewport()->update();
}

void TimelineTree::showWhole() {
  m_header->axis.reset();
  refresh();
}

void TimelineTree::showSelected() {
  const EventNode* node = static_cast<const EventModel&>(*model()).node(currentIndex());
  if (!node) return;
  m_header->axis.show(node->startUs, node->startUs + node->us);
  refresh();
}

void TimelineTree::wheelEvent(QWheelEvent* event) {
  const auto x = inTimeline(event->position());
  const QPoint delta = event->angleDelta();
  const double turn = delta.y() != 0 ? delta.y() : delta.x();
  if (x && event->modifiers() & Qt::ControlModifier)
    m_header->axis.zoom(std::pow(0.8, turn / 120), *x, timelineWidth());
  else if (x && event->modifiers() & Qt::ShiftModifier) m_header->axis.pan(turn / 2, timelineWidth());
  else return QTreeView::wheelEvent(event);
  event->accept();
  refresh();
}

void TimelineTree::mousePressEvent(QMouseEvent* event) {
  QTreeView::mousePressEvent(event);
  if (event->button() == Qt::LeftButton && inTimeline(event->position())) m_dragFrom = event->position();
}

void TimelineTree::mouseMoveEvent(QMouseEvent* event) {
  if (!m_dragFrom) return QTreeView::mouseMoveEvent(event);
  m_header->axis.pan(event->position().x() - m_dragFrom->x(), timelineWidth());
  m_dragFrom = event->position();
  refresh();
}

void TimelineTree::mouseReleaseEvent(QMouseEvent* event) {
  m_dragFrom.reset();
  QTreeView::mouseReleaseEvent(event);
}

void TimelineTree::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Z) showSelected();
  else if (event->key() == Qt::Key_0) showWhole();
  else QTreeView::keyPressEvent(event);
}

/// Hides rates and bytes if the view is narrow.
void TimelineTree::fitColumns() {
  const int wide = viewport()->width();
  setColumnHidden(EventModel::Rate, wide < kRateFrom);
  setColumnHidden(EventModel::Bytes, wide < kBytesFrom);
  int left = wide - kLeastTimeline;
  for (const int column : {EventModel::Duration, EventModel::Bytes, EventModel::Rate})
    if (!isColumnHidden(column)) left -= columnWidth(column);
  setColumnWidth(EventModel::Name, std::clamp(left, kLeastName, kMostName));
}

void TimelineTree::resizeEvent(QResizeEvent* event) {
  QTreeView::resizeEvent(event);
  fitColumns();
  refresh();
}

}  // namespace kvlab
