// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in wlod_paint.cpp.
#include "widgets/views/tree/wlod_canvas.h"

#include <QFontMetrics>
#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"

namespace kvlab {
namespace {
constexpr int kNarrowGutter = 56, kGutter = 80, kRight = 10, kRuler = 22, kLane = 17, kGap = 5, kLowest = 12,
              kTallest = 140;
constexpr int kTallTokens = 70, kFlatTokens = 22;
}  // namespace

WlodCanvas::WlodCanvas(InspectorContext& context, QWidget* parent) : AxisCanvas(context, parent) {
  setMinimumSize(160, 120);
  setAccessibleName(tr("Tree over the time line"));
  setToolTip(
      tr("Click selects a node, a double click or Return expands a gist or collapses a block; arrow keys move along "
         "the context and between levels; the wheel zooms, dragging pans, 0 shows the whole time line"));
  setMaxScale(90);
}

void WlodCanvas::show(std::shared_ptr<const WlodTree> tree) {
  m_tree = std::move(tree);
  if (!hoveredNode()) forgetHover();
  if (m_selected && m_tree && !m_tree->has(*m_selected)) m_selected.reset();
  place();
}

void WlodCanvas::setColour(TreeColour colour) {
  m_colour = colour;
  place();
}

void WlodCanvas::setValues(TileRows values) {
  m_values = std::move(values);
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
  AxisMap to = axis();
  if (to.fitted) return;
  const bool wide = node.span() > to.visible();
  if (wide && node.start < to.first + to.visible() && node.end() > to.first) return;
  if (!wide) to.reveal(node.end() - 1);
  to.reveal(node.start);
  panTo(to.first);
}

/// Width of the margin; wide views show the number of entries of each level there.
int WlodCanvas::gutter() const { return width() < 420 ? kNarrowGutter : kGutter; }

WlodCanvas::Parts WlodCanvas::parts() const {
  Parts p;
  const int left = gutter(), wide = std::max(1, width() - left - kRight),
            tall = legendHeight(legend(*Theme::current()), width() - 2 * Theme::kMedium) + Theme::kSmall;
  p.ruler = QRect(left, 0, wide, kRuler);
  p.lane = QRect(left, kRuler, wide, kLane);
  p.legend = QRect(Theme::kMedium, height() - tall, width() - 2 * Theme::kMedium, tall);
  const int top = kRuler + kLane, room = p.legend.top() - top;
  const int text = axis().scale < kTokenScale ? 0 : axis().scale < kWideScale ? kTallTokens : kFlatTokens;
  const int texts = room - text >= (kTopLevel + 1) * (kLowest + kGap) ? text : 0;
  p.each = std::clamp((room - texts) / (kTopLevel + 1), kLowest + kGap, kTallest + kGap);
  p.rows = QRect(left, top, wide, (kTopLevel + 1) * p.each - kGap);
  p.tokens = QRect(left, p.rows.bottom() + 1, wide, texts);
  return p;
}

/// The row of a level; the coarsest is on top.
QRect WlodCanvas::levelRect(const Parts& p, int level) const {
  return {p.rows.left(), p.rows.top() + (kTopLevel - level) * p.each, p.rows.width(), p.each - kGap};
}

/// Moments as a box of whole pixels, at least one pixel wide, with a gap after it if there is room.
QRectF WlodCanvas::boxIn(const QRect& line, std::int32_t begin, std::int32_t end) const {
  const double left = std::clamp(std::round(axis().pixel(begin)), -1.0, axis().extent),
               right = std::clamp(std::round(axis().pixel(end)), -1.0, axis().extent);
  const double gap = (end - begin) * axis().scale >= 4 ? 1 : 0;
  return {line.left() + left, static_cast<double>(line.top()), std::max(1.0, right - left - gap),
          static_cast<double>(line.height())};
}

QRectF WlodCanvas::boxOf(TreeNode node) const { return boxIn(levelRect(parts(), node.level), node.start, node.end()); }

QRect WlodCanvas::axisArea() const { return m_tree ? parts().rows : QRect(); }

CanvasCell WlodCanvas::cellAt(QPoint point) const {
  if (!m_tree) return {};
  const Parts p = parts();
  const int moment = point.x() < p.rows.left() ? -1 : axis().at(point.x() - p.rows.left());
  if (moment < 0 || point.y() < p.rows.top()) return {};
  const int level = p.tokens.contains(point) ? 0 : kTopLevel - (point.y() - p.rows.top()) / p.each;
  const auto node = level < 0 ? std::nullopt : m_tree->nodeAt(level, moment);
  return node ? cellOf(*node) : CanvasCell();
}

std::optional<TreeNode> WlodCanvas::hoveredNode() const {
  const bool known = hovered().there() && m_tree && m_tree->has(nodeOf(hovered()));
  return known ? std::optional(nodeOf(hovered())) : std::nullopt;
}

CanvasCell WlodCanvas::focusCell() const { return m_selected ? cellOf(*m_selected) : CanvasCell(); }

double WlodCanvas::focusMiddle() const { return m_selected ? m_selected->start + m_selected->span() / 2.0 : -1; }

Position WlodCanvas::positionOf(CanvasCell cell) const {
  return Position(cell.there() && m_tree ? m_tree->positionOf(nodeOf(cell)) : -1);
}

bool WlodCanvas::activate(CanvasCell cell) {
  if (cell.there()) emit activated(nodeOf(cell));
  return cell.there();
}

void WlodCanvas::menuAbout(CanvasCell cell) {
  if (cell.there()) choose(cell);
}

QString WlodCanvas::tipOf(CanvasCell cell) const {
  if (!cell.there()) return {};
  QString text = m_tree->facts(nodeOf(cell)).join(QStringLiteral("\n"));
  if (const QString words = m_tree->text(nodeOf(cell), 240); !words.isEmpty())
    text += QStringLiteral("\n“") + words + QStringLiteral("”");
  return QStringLiteral("<p style='white-space:pre-wrap'>") + text.toHtmlEscaped() + QStringLiteral("</p>");
}

/// Up and down change the level, left and right go to a neighbour.
CanvasCell WlodCanvas::stepped(const CellStep& by) const {
  if (!m_tree || m_tree->entries() == 0) return {};
  if (!m_selected) return cellOf(m_tree->entry(m_tree->entries() - 1));
  const TreeNode from = *m_selected;
  if (by.lines == 0) return cellOf(besides(from, by));
  const auto to = m_tree->nodeAt(std::clamp(from.level - by.lines, 0, kTopLevel), from.start);
  return to && *to != from ? cellOf(*to) : CanvasCell();
}

/// An entry's neighbour in the context, another node's neighbour in its level. Page and end keys move by moments, arrow
/// keys by nodes.
TreeNode WlodCanvas::besides(TreeNode from, const CellStep& by) const {
  const std::int32_t position = m_tree->positionOf(from);
  if (by.far) {
    const int moment = std::clamp(from.start + by.items, 0, m_tree->moments() - 1);
    return position >= 0 ? m_tree->entry(m_tree->entryAt(moment)) : m_tree->nodeAt(from.level, moment).value_or(from);
  }
  if (position >= 0) return m_tree->entry(std::clamp(position + by.items, 0, m_tree->entries() - 1));
  const int last = m_tree->nodes(from.level) - 1;
  return {from.level, std::clamp(from.start / from.span() + by.items, 0, last) * from.span()};
}

QString WlodCanvas::readout() const {
  if (!m_tree) return {};
  const auto under = hoveredNode(), node = under ? under : m_selected;
  if (!node) return tr("click a node to choose it; double click expands or collapses; the wheel zooms, dragging pans");
  QString out =
      (under ? QString() : tr("chosen") + QStringLiteral("   ")) + m_tree->facts(*node).join(QStringLiteral("   "));
  if (const QString words = m_tree->text(*node, 80); !words.isEmpty())
    out += QStringLiteral("   “") + words + QStringLiteral("”");
  return out;
}

}  // namespace kvlab
