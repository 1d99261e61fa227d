// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in wlod_paint.cpp.
#include "widgets/views/tree/wlod_canvas.h"

#include <QFontMetrics>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"

namespace kvlab {
namespace {
constexpr int kNarrowGutter = 56, kGutter = 80, kRight = 10, kRuler = 22, kLane = 17, kGap = 5, kLowest = 12,
              kTallest = 140;
constexpr int kTallTokens = 70, kFlatTokens = 22;
}  // namespace

WlodCanvas::WlodCanvas(InspectorContext& context, QWidget* parent) : QWidget(parent), m_context(context) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(160, 120);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName(tr("Tree over the time line"));
  setToolTip(
      tr("Click chooses a node, a double click or Return expands a gist or collapses a block; arrows move along the "
         "context and up and down the tree; the wheel zooms, dragging pans, 0 shows all"));
  m_axis.maxScale = 90;
}

void WlodCanvas::show(std::shared_ptr<const WlodTree> tree) {
  m_tree = std::move(tree);
  if (m_hovered && (!m_tree || !m_tree->has(*m_hovered))) m_hovered.reset();
  if (m_selected && m_tree && !m_tree->has(*m_selected)) m_selected.reset();
  place();
  update();
}

void WlodCanvas::setColour(TreeColour colour) {
  m_colour = colour;
  place();
  update();
}

void WlodCanvas::select(std::optional<TreeNode> node) {
  m_selected = node && m_tree && m_tree->has(*node) ? node : std::nullopt;
  update();
}

void WlodCanvas::mark(std::optional<TreeNode> node) {
  m_marked = node;
  update();
}

void WlodCanvas::reveal(TreeNode node) {
  if (m_axis.fitted) return;
  const bool wide = node.span() > m_axis.visible();
  if (wide && node.start < m_axis.first + m_axis.visible() && node.end() > m_axis.first) return;
  if (!wide) m_axis.reveal(node.end() - 1);
  m_axis.reveal(node.start);
  update();
}

void WlodCanvas::showWindow(double begin, double end) {
  m_axis.show(begin, end);
  update();
}

void WlodCanvas::fit() {
  m_axis.fit();
  update();
}

void WlodCanvas::zoomBy(double factor) {
  const double middle = m_selected ? m_axis.pixel(m_selected->start + m_selected->span() / 2.0) : -1;
  m_axis.zoom(middle >= 0 && middle < m_axis.extent ? middle : m_axis.extent / 2, factor);
  update();
}

/// Where there is room the number of entries stands beside each level.
int WlodCanvas::gutter() const { return width() < 420 ? kNarrowGutter : kGutter; }

void WlodCanvas::place() { m_axis.resize(m_tree ? m_tree->moments() : 0, std::max(1, width() - gutter() - kRight)); }
void WlodCanvas::resizeEvent(QResizeEvent*) { place(); }

WlodCanvas::Parts WlodCanvas::parts() const {
  Parts p;
  const int left = gutter(), wide = std::max(1, width() - left - kRight),
            tall = legendHeight(legendWidths(legend()), width() - 2 * Theme::kMedium) + Theme::kSmall;
  p.ruler = QRect(left, 0, wide, kRuler);
  p.lane = QRect(left, kRuler, wide, kLane);
  p.legend = QRect(Theme::kMedium, height() - tall, width() - 2 * Theme::kMedium, tall);
  const int top = kRuler + kLane, room = p.legend.top() - top;
  const int text = m_axis.scale < kTokenScale ? 0 : m_axis.scale < kWideScale ? kTallTokens : kFlatTokens;
  const int texts = room - text >= (kTopLevel + 1) * (kLowest + kGap) ? text : 0;
  p.each = std::clamp((room - texts) / (kTopLevel + 1), kLowest + kGap, kTallest + kGap);
  p.rows = QRect(left, top, wide, (kTopLevel + 1) * p.each - kGap);
  p.tokens = QRect(left, p.rows.bottom() + 1, wide, texts);
  return p;
}

/// The line of a level; the coarsest is on top.
QRect WlodCanvas::levelRect(const Parts& p, int level) const {
  return {p.rows.left(), p.rows.top() + (kTopLevel - level) * p.each, p.rows.width(), p.each - kGap};
}

/// Moments as a box of whole pixels, at least one wide, with a gap behind it where there is room.
QRectF WlodCanvas::boxIn(const QRect& line, std::int32_t begin, std::int32_t end) const {
  const double left = std::clamp(std::round(m_axis.pixel(begin)), -1.0, m_axis.extent),
               right = std::clamp(std::round(m_axis.pixel(end)), -1.0, m_axis.extent);
  const double gap = (end - begin) * m_axis.scale >= 4 ? 1 : 0;
  return {line.left() + left, static_cast<double>(line.top()), std::max(1.0, right - left - gap),
          static_cast<double>(line.height())};
}

QRectF WlodCanvas::boxOf(TreeNode node) const { return boxIn(levelRect(parts(), node.level), node.start, node.end()); }

std::optional<TreeNode> WlodCanvas::nodeUnder(QPointF point) const {
  const Parts p = parts();
  const int moment = point.x() < p.rows.left() ? -1 : m_axis.at(point.x() - p.rows.left());
  if (!m_tree || moment < 0 || point.y() < p.rows.top()) return {};
  if (p.tokens.height() > 0 && p.tokens.contains(point.toPoint())) return m_tree->nodeAt(0, moment);
  const int level = kTopLevel - static_cast<int>((point.y() - p.rows.top()) / p.each);
  return level < 0 ? std::nullopt : m_tree->nodeAt(level, moment);
}

void WlodCanvas::hoverAt(std::optional<TreeNode> node) {
  if (node == m_hovered) return;
  m_hovered = node;
  m_context.setHovered(Position(node && m_tree ? m_tree->positionOf(*node) : -1));
  emit readoutChanged();
  update();
}

void WlodCanvas::wheelEvent(QWheelEvent* event) {
  turnAxis(m_axis, *event, gutter());
  hoverAt(nodeUnder(event->position()));
  event->accept();
  update();
}

void WlodCanvas::mousePressEvent(QMouseEvent* event) {
  m_drag.press(*event, m_axis);
  const auto node = nodeUnder(event->position());
  if (event->button() == Qt::RightButton && node) emit clicked(*node);  // the menu is about it
}

void WlodCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (m_drag.move(*event, m_axis)) {
    setCursor(Qt::ClosedHandCursor);
    update();
  }
  hoverAt(nodeUnder(event->position()));
}

void WlodCanvas::mouseReleaseEvent(QMouseEvent* event) {
  unsetCursor();
  const auto node = nodeUnder(event->position());
  if (m_drag.release(*event) && node) emit clicked(*node);
}

void WlodCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto node = nodeUnder(event->position());
  if (event->button() == Qt::LeftButton && node) emit activated(*node);
}

void WlodCanvas::leaveEvent(QEvent*) { hoverAt({}); }

bool WlodCanvas::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !m_tree) return QWidget::event(event);
  auto* help = static_cast<QHelpEvent*>(event);
  const auto node = nodeUnder(help->pos());
  QString text = toolTip();
  if (node) {
    text = m_tree->facts(*node).join(QStringLiteral("\n"));
    if (const QString words = m_tree->text(*node, 240); !words.isEmpty())
      text += QStringLiteral("\n“") + words + QStringLiteral("”");
    text = QStringLiteral("<p style='white-space:pre-wrap'>") + text.toHtmlEscaped() + QStringLiteral("</p>");
  }
  QToolTip::showText(help->globalPos(), text, this);
  return true;
}

/// Sideways along the context where the chosen node is an entry, else along its level; up and down through the tree.
void WlodCanvas::step(const CellStep& by) {
  if (!m_tree || m_tree->entries() == 0) return;
  const TreeNode from = m_selected.value_or(m_tree->entry(m_tree->entries() - 1));
  const std::int32_t position = m_tree->positionOf(from);
  if (!m_selected) return emit clicked(from);
  if (by.lines != 0) {
    const int level = std::clamp(from.level - by.lines, 0, kTopLevel);
    if (const auto to = m_tree->nodeAt(level, from.start); to && *to != from) emit clicked(*to);
    return;
  }
  const bool far = std::abs(by.items) > 10;  // pages and ends are moments, steps are nodes
  const int last = m_tree->moments() - 1;
  if (far) {
    const int moment = std::clamp(from.start + by.items, 0, last);
    return emit clicked(position >= 0 ? m_tree->entry(m_tree->entryAt(moment))
                                      : m_tree->nodeAt(from.level, moment).value_or(from));
  }
  if (position >= 0) return emit clicked(m_tree->entry(std::clamp(position + by.items, 0, m_tree->entries() - 1)));
  const int nodes = m_tree->nodes(from.level);
  emit clicked(TreeNode{from.level, std::clamp(from.start / from.span() + by.items, 0, nodes - 1) * from.span()});
}

void WlodCanvas::keyPressEvent(QKeyEvent* event) {
  if (const auto by = cellStep(*event, std::max(11, static_cast<int>(m_axis.visible())),
                               std::max(11, m_tree ? m_tree->moments() : 0)))
    return step(*by);
  if (const auto factor = zoomStep(*event)) {
    if (*factor > 0) return zoomBy(*factor);
    return fit();
  }
  if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && m_selected)
    return emit activated(*m_selected);
  QWidget::keyPressEvent(event);
}

QString WlodCanvas::readout() const {
  if (!m_tree) return {};
  const auto node = m_hovered ? m_hovered : m_selected;
  if (!node) return tr("click a node to choose it; double click expands or collapses; the wheel zooms, dragging pans");
  QString out =
      (m_hovered ? QString() : tr("chosen") + QStringLiteral("   ")) + m_tree->facts(*node).join(QStringLiteral("   "));
  if (const QString words = m_tree->text(*node, 80); !words.isEmpty())
    out += QStringLiteral("   “") + words + QStringLiteral("”");
  return out;
}

std::vector<WlodCanvas::Legend> WlodCanvas::legend() const {
  std::vector<Legend> out;
  if (!m_tree) return out;
  const WlodView& view = m_tree->view();
  const auto add = [&](Key key, const QString& text, int swatch = 17) { out.push_back({key, text, swatch}); };
  if (m_colour == TreeColour::Change) {
    add(Key::Clean, tr("clean"));
    add(Key::Hierarchical, tr("hierarchical: holds the edit"));
    add(Key::Temporal, tr("temporal: comes after it"));
    add(Key::Both, tr("both"));
    if (!view.change || !view.change->full) add(Key::Kept, tr("layer 0 kept"));
  } else if (m_colour == TreeColour::Level) {
    for (const Key key : {Key::Level2, Key::Level1, Key::Level0})
      add(key, levelText(key == Key::Level2 ? 2 : key == Key::Level1 ? 1 : 0));
  } else {
    const bool none = m_colour == TreeColour::Score ? view.scores.empty() : view.mass.empty();
    if (none) add(Key::NoValue, m_colour == TreeColour::Score ? tr("no scores yet") : tr("no attention yet"));
    else if (m_colour == TreeColour::Score) add(Key::Score, tr("−1 less … +1 more detail"), 62);
    else add(Key::Mass, tr("attention 0 … %1").arg(static_cast<double>(m_tree->mostMass()), 0, 'g', 2), 62);
  }
  add(Key::TreeOnly, tr("in the tree alone"));
  if (m_tree->summaries() > 0) add(Key::Summary, tr("summary beside the context"));
  if (m_tree->anyCooling()) add(Key::Cooling, tr("cooling, rounds"));
  if (view.change && !view.change->edits.empty()) add(Key::Edit, tr("last edit"));
  if (view.protectedFrom < view.moments) add(Key::Protected, tr("protected tail"));
  if (view.moments % spanOf(1) != 0) add(Key::Incomplete, tr("incomplete block"));
  if (view.draft) add(Key::Draft, tr("draft"));
  return out;
}

std::vector<int> WlodCanvas::legendWidths(const std::vector<Legend>& entries) const {
  const QFontMetrics metrics(Theme::current()->small);
  std::vector<int> widths;
  for (const Legend& entry : entries)
    widths.push_back(entry.swatch + metrics.horizontalAdvance(entry.text) + Theme::kLarge);
  return widths;
}

}  // namespace kvlab
