// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/tree/wlod_canvas.h"

#include <QFontMetrics>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/views/tree/wlod_look.h"

namespace kvlab {
namespace {
constexpr int kNarrowGutter = 56, kGutter = 80, kRight = 10, kRuler = 22, kLane = 17, kGap = 5, kLowest = 12,
              kTallest = 140;
constexpr int kTallTokens = 70, kFlatTokens = 22;
constexpr double kNarrow = 3;  // narrower boxes share pixels
constexpr double kKept = 2;    // height of the line below rows that kept their layer 0

int rank(DirtyWhy why) {
  return why == DirtyWhy::Clean ? 0 : why == DirtyWhy::Temporal ? 1 : why == DirtyWhy::Hierarchical ? 2 : 3;
}
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

QColor WlodCanvas::scoreColour(float score) const {
  return colourAt(m_table, double(std::clamp(score, -1.0f, 1.0f) + 1) / 2);
}

/// Omits the ends of the colour map, which are close to the window's colours.
QColor WlodCanvas::massColour(float share) const {
  return QColor(m_table[at(70 + std::lround(std::sqrt(std::clamp(share, 0.0f, 1.0f)) * 160))]);
}

void WlodCanvas::paintContent(QPainter& painter, const Theme& theme) {
  if (!m_tree) return;
  if (m_colour == TreeColour::Map) m_table = colourTable(m_values.scale().quantity, theme);
  else if (figures())
    m_table = colourTable(m_colour == TreeColour::Score ? MapKind::Diverging : MapKind::Inferno, theme);
  const Parts p = parts();
  paintRuler(painter, p.ruler, width(), axis(), theme);
  painter.save();
  painter.setClipRect(QRect(p.rows.left() - 2, p.lane.top(), p.rows.width() + 4, p.legend.top() - p.lane.top()));
  paintTail(painter, p, theme);
  for (int level = 0; level <= kTopLevel; ++level) paintStored(painter, p, level, theme);
  paintEarliest(painter, p, theme);
  for (int level = 0; level <= kTopLevel; ++level) paintRows(painter, levelRect(p, level), level, theme);
  for (int level = 0; level <= kTopLevel && m_tree->anyCooling(); ++level)
    paintCooling(painter, levelRect(p, level), level, theme);
  paintLane(painter, p, theme);
  paintMarks(painter, p, theme);
  const std::int32_t chosen = m_selected && m_selected->level == 0 ? m_selected->start : -1;
  paintTokenTexts(
      painter, p.tokens, axis(), chosen,
      [this](int moment) {
        const auto& tokens = m_tree->view().tokens;
        return at(moment) < tokens.size() ? shortTokenText(m_tree->snapshot(), tokens[at(moment)]) : QString();
      },
      theme, true);
  painter.restore();
  paintNames(painter, p, theme);
  paintLegend(painter, p.legend, legend(theme), theme);
}

/// Paints all complete nodes as faint boxes behind the entries.
void WlodCanvas::paintStored(QPainter& painter, const Parts& p, int level, const Theme& theme) const {
  const std::int32_t span = spanOf(level), end = m_tree->nodes(level) * span;
  const QRect line = levelRect(p, level);
  const double left = std::max(0.0, axis().pixel(0)), right = std::min(axis().extent, axis().pixel(end));
  if (right <= left) return;
  painter.fillRect(QRectF(line.left() + left, line.top(), right - left, line.height()),
                   Theme::mix(theme.surface, theme.sunken, theme.dark ? 0.75 : 0.55));
  if (span * axis().scale < 4) return;
  const auto [from, to] = axis().inSight();
  for (std::int32_t start = from / span * span; start < std::min(to, end); start += span) {
    const QRectF box = boxIn(line, start, start + span);
    painter.fillRect(QRectF(box.right(), box.top(), 1, box.height()), theme.surface);
    painter.setPen(QPen(theme.border, 1));
    painter.setBrush(Qt::NoBrush);
    if (span * axis().scale >= 12) painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
  }
}

float WlodCanvas::figureOf(const TreeRow& row) const {
  switch (m_colour) {
    case TreeColour::Score: return m_tree->score(row.position);
    case TreeColour::Mass: return m_tree->mass(row.position);
    default:
      return row.position < 0 || row.position >= m_tree->entries()
          ? std::nanf("")
          : m_values.strongest(m_tree->snapshot().context[at(row.position)]);
  }
}

/// The row whose mark is more important if both share a pixel.
const TreeRow* WlodCanvas::stronger(const TreeRow* a, const TreeRow* b) const {
  if (!a || !b) return a ? a : b;
  if (m_colour == TreeColour::Change) return rank(b->why) > rank(a->why) ? b : a;
  if (!figures()) return a;
  const auto weight = [this](const TreeRow& row) {
    const float figure = figureOf(row);
    return m_colour == TreeColour::Map ? static_cast<float>(m_values.scale().index(figure)) : std::abs(figure);
  };
  const float left = weight(*a), right = weight(*b);
  return right > left || std::isnan(left) ? b : a;
}

void WlodCanvas::paintRows(QPainter& painter, const QRect& line, int level, const Theme& theme) const {
  const auto& rows = m_tree->rows(level);
  const auto [from, to] = axis().inSight();
  auto row = std::lower_bound(rows.begin(), rows.end(), from,
                              [](const TreeRow& one, std::int32_t moment) { return one.node.end() <= moment; });
  const bool narrow = spanOf(level) * axis().scale < kNarrow;
  std::vector<Column> columns(narrow ? at(static_cast<std::int64_t>(axis().extent)) : 0);
  for (; row != rows.end() && row->node.start < to; ++row) {
    if (!narrow) {
      const QRectF box = boxIn(line, row->node.start, row->node.end());
      if (row->position >= 0) paintEntry(painter, box, *row, row->layer0, theme);
      else paintSummary(painter, box, *row, row->layer0, theme);
      continue;
    }
    const auto first = static_cast<std::int64_t>(std::max(0.0, std::floor(axis().pixel(row->node.start))));
    const auto last = std::max(first + 1, static_cast<std::int64_t>(std::ceil(axis().pixel(row->node.end()) - 1e-6)));
    for (std::int64_t x = first; x < std::min(last, static_cast<std::int64_t>(columns.size())); ++x) {
      Column& column = columns[at(x)];
      (row->position >= 0 ? column.entry : column.summary) =
          stronger(row->position >= 0 ? column.entry : column.summary, &*row);
      column.layer0 = column.layer0 || row->layer0;
    }
  }
  if (narrow) paintColumns(painter, line, columns, theme);
}

/// Paints runs of equal columns at once, so that patterns and locks fit.
void WlodCanvas::paintColumns(QPainter& painter, const QRect& line, const std::vector<Column>& columns,
                              const Theme& theme) const {
  const auto alike = [&](const Column& a, const Column& b) {
    if (!a.entry != !b.entry || !a.summary != !b.summary || a.layer0 != b.layer0 || (figures() && a.entry))
      return false;
    return (!a.entry || a.entry->why == b.entry->why) && (!a.summary || a.summary->why == b.summary->why);
  };
  for (std::size_t x = 0; x < columns.size();) {
    std::size_t run = x + 1;
    while (run < columns.size() && alike(columns[x], columns[run])) ++run;
    const QRectF box(line.left() + static_cast<double>(x), line.top(), static_cast<double>(run - x), line.height());
    if (columns[x].summary) paintSummary(painter, box, *columns[x].summary, columns[x].layer0, theme);
    if (columns[x].entry) paintEntry(painter, box, *columns[x].entry, columns[x].layer0, theme);
    x = run;
  }
}

void WlodCanvas::paintFill(QPainter& painter, const QRectF& box, const TreeRow& row, const Theme& theme) const {
  if (m_colour == TreeColour::Change) return paintWhy(painter, box, row.why, theme);
  if (m_colour == TreeColour::Level) return painter.fillRect(box, levelColour(row.node.level, theme));
  const float value = figureOf(row);
  if (std::isnan(value)) return painter.fillRect(box, missingBrush(theme));
  if (m_colour == TreeColour::Map) return painter.fillRect(box, QColor(m_table[m_values.scale().index(value)]));
  painter.fillRect(box, whyColour(DirtyWhy::Clean, theme));
  if (m_colour == TreeColour::Score) {  // a bar up or down from the middle
    const double middle = std::round(box.center().y()),
                 tall = std::max(1.0, (box.height() / 2 - 1) * std::abs(static_cast<double>(value)));
    painter.fillRect(QRectF(box.left(), value > 0 ? middle - tall : middle, box.width(), tall), scoreColour(value));
    return painter.fillRect(QRectF(box.left(), middle, box.width(), 1), theme.surface);
  }
  const float share = m_tree->mostMass() > 0 ? value / m_tree->mostMass() : 0;
  const double tall = std::max(1.0, box.height() * std::sqrt(static_cast<double>(share)));
  painter.fillRect(QRectF(box.left(), box.bottom() - tall, box.width(), tall), massColour(share));
}

void WlodCanvas::paintEntry(QPainter& painter, const QRectF& box, const TreeRow& row, bool layer0,
                            const Theme& theme) const {
  paintFill(painter, box, row, theme);
  painter.fillRect(QRectF(box.left(), box.top(), box.width(), 1.5), theme.text);  // edge of the working context
  if (m_colour == TreeColour::Change && layer0)
    painter.fillRect(QRectF(box.left(), box.bottom() - kKept, box.width(), kKept), theme.ok);
  paintText(painter, box, row, theme);
}

/// Paints a faint box with a foot: a summary row, which is not part of the context.
void WlodCanvas::paintSummary(QPainter& painter, const QRectF& box, const TreeRow& row, bool layer0,
                              const Theme& theme) const {
  const double tall = std::max(4.0, std::round(box.height() * 0.3));
  const QRectF foot(box.left(), box.bottom() - tall, box.width(), tall);
  if (m_colour == TreeColour::Change) paintWhy(painter, foot, row.why, theme);
  else painter.fillRect(foot, whyColour(DirtyWhy::Clean, theme));
  if (m_colour == TreeColour::Change && layer0)
    painter.fillRect(QRectF(box.left(), box.bottom() - kKept, box.width(), kKept), theme.ok);
  painter.setFont(theme.small);
  const QRectF room(box.left(), box.top(), box.width(), box.height() - tall);
  const QFontMetrics metrics = painter.fontMetrics();
  if (room.height() < metrics.height()) return;
  painter.setPen(theme.muted);
  for (const QString& text :
       {m_colour == TreeColour::Change ? tr("summary: %1").arg(whyText(row.why, false)) : tr("summary"),
        tr("summary")}) {
    const int wide = metrics.horizontalAdvance(text) + 8;
    if (wide > room.width()) continue;
    painter.fillRect(
        QRectF(room.center().x() - wide / 2.0, room.center().y() - metrics.height() / 2.0, wide, metrics.height()),
        Theme::mix(theme.surface, theme.sunken, theme.dark ? 0.75 : 0.55));
    painter.drawText(room, Qt::AlignCenter, text);
    return;
  }
}

/// Neighbours with the same cooldown share one mark.
void WlodCanvas::paintCooling(QPainter& painter, const QRect& line, int level, const Theme& theme) const {
  const auto& rows = m_tree->rows(level);
  const auto [from, to] = axis().inSight();
  auto row = std::lower_bound(rows.begin(), rows.end(), from,
                              [](const TreeRow& one, std::int32_t moment) { return one.node.end() <= moment; });
  while (row != rows.end() && row->node.start < to) {
    const std::int32_t begin = row->node.start, rounds = m_tree->cooling(row->position);
    std::int32_t end = row->node.end();
    for (++row; row != rows.end() && row->node.start == end && m_tree->cooling(row->position) == rounds; ++row)
      end = row->node.end();
    if (rounds > 0) paintLocked(painter, boxIn(line, begin, end), rounds, theme);
  }
}

/// Paints a dotted rail, a lock and the number of remaining rounds, if there is room.
void WlodCanvas::paintLocked(QPainter& painter, const QRectF& box, std::int32_t rounds, const Theme& theme) const {
  for (double x = box.left(); x < box.right(); x += 4)
    painter.fillRect(QRectF(x, box.top() + 3, std::min(2.0, box.right() - x), 2), theme.text);
  painter.setFont(theme.monoSmall);
  const QString text = QString::number(rounds);
  const double figure = painter.fontMetrics().horizontalAdvance(text);
  if (box.width() < 13 || box.height() < 22) return;
  const bool both = box.width() >= figure + 20;
  const QRectF plate(box.center().x() - (both ? figure / 2 + 8 : 6), box.top() + 6, both ? figure + 16 : 12, 14);
  painter.fillRect(plate, theme.surface);
  paintLock(painter, QPointF(plate.left() + 6, plate.bottom() - 2), 7, theme.text);
  painter.setPen(theme.text);
  if (both) painter.drawText(plate.adjusted(12, 0, 0, 0), Qt::AlignVCenter, text);
}

QString WlodCanvas::valueOf(const TreeRow& row) const {
  switch (m_colour) {
    case TreeColour::Change: return row.why == DirtyWhy::Both ? tr("both") : whyText(row.why, false);
    case TreeColour::Level:
      return row.node.level > 0 ? QStringLiteral("%1 … %2").arg(row.node.start).arg(row.node.end() - 1) : QString();
    case TreeColour::Score: {
      const float value = m_tree->score(row.position);
      return std::isnan(value)
          ? QString()
          : (value > 0 ? QStringLiteral("+") : QString()) + QString::number(static_cast<double>(value), 'f', 2);
    }
    case TreeColour::Map: {
      const float value = figureOf(row);
      return std::isnan(value) ? QString() : shortValueText(m_values.scale().quantity, value);
    }
    default: {
      const float value = m_tree->mass(row.position);
      return std::isnan(value) ? QString() : QString::number(static_cast<double>(value), 'g', 2);
    }
  }
}

void WlodCanvas::paintText(QPainter& painter, const QRectF& box, const TreeRow& row, const Theme& theme) const {
  if (box.width() < 12 || box.height() < 34) return;
  painter.setFont(theme.small);
  const QFontMetrics metrics = painter.fontMetrics();
  const QString text = valueOf(row);
  const double wide = metrics.horizontalAdvance(text);
  if (text.isEmpty() || wide + 8 > box.width()) return;
  const QRectF plate(box.center().x() - wide / 2 - 3, box.bottom() - 6 - metrics.height(), wide + 6, metrics.height());
  const QColor ground = m_colour == TreeColour::Change ? whyColour(row.why, theme)
      : m_colour == TreeColour::Level                  ? levelColour(row.node.level, theme)
                                                       : theme.surface;
  painter.fillRect(plate, ground);
  painter.setPen(readableOn(ground.rgb()));
  painter.drawText(plate, Qt::AlignCenter, text);
}

}  // namespace kvlab
