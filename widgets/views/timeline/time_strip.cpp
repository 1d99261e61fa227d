// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/timeline/time_strip.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"

namespace kvlab {
namespace {
constexpr int kRuler = 22, kMarkRow = 18, kRight = 10, kGap = 6, kLow = 18, kHigh = 30;
constexpr int kNarrow = 560, kNames = 112, kShortNames = 66;  // the names are short below this width
constexpr int kNear = 4;                                      // pixels from a mark that are a click on it
constexpr double kWidest = 40;                                // pixels of a tick
constexpr int kOver = 6;                                      // pixels by which marks at the ends may stand out
constexpr double kLeftTop = 8, kLeftTall = 3;  // top and height of the line of rows that left; below the lane's line

QColor lineColour(bool onWay, const Theme& theme) {
  return onWay ? Theme::mix(theme.surface, theme.accent, 0.75) : theme.muted;
}
}  // namespace

TimeStrip::TimeStrip(InspectorContext& context, QWidget* parent) : AxisCanvas(context, parent) {
  setMinimumSize(160, 80);
  setMaxScale(kWidest);
  setToolTipDuration(8000);
  setAccessibleName(tr("Ticks and branches"));
  setToolTip(
      tr("Click shows a tick or goes to one of another branch, the wheel zooms, dragging pans, with Shift it limits "
         "the ticks; arrow keys go by tick, with Control by edit, up and down by branch"));
  connect(&context, &InspectorContext::ticksLimited, this, qOverload<>(&QWidget::update));
}

void TimeStrip::show(const TickTree* tree, std::int64_t shownTick) {
  m_tree = tree;
  m_shown = shownTick;
  forgetHover();
  place();
  if (lines() && std::exchange(m_lane, m_tree->lane()) != m_tree->lane()) revealLane(m_tree->lane());
  scrollLines(0);
  setAccessibleDescription(describe(focusCell()));
  emit readoutChanged();
}

void TimeStrip::setMarks(const QString& source, std::vector<TimeMark> marks) {
  if (marks.empty()) m_marks.erase(source);
  else m_marks[source] = std::move(marks);
  update();
}

void TimeStrip::setMarksName(const QString& name) {
  m_marksName = name;
  update();
}

TimeStrip::Parts TimeStrip::parts() const {
  Parts p;
  const int left = width() < kNarrow ? kShortNames : kNames, wide = std::max(1, width() - left - kRight);
  const int foot = legendHeight(legend(*Theme::current()), std::max(1, width() - 2 * Theme::kMedium)) + Theme::kSmall;
  p.ruler = QRect(left, 0, wide, kRuler);
  p.marks = QRect(left, kRuler, wide, kMarkRow);
  const int top = p.marks.bottom() + 1 + kGap;
  p.legend = QRect(Theme::kMedium, height() - foot, width() - 2 * Theme::kMedium, foot);
  p.lanes = QRect(left, top, wide, std::max(1, p.legend.top() - top - Theme::kTight));
  p.each = std::clamp(p.lanes.height() / std::max(1, lines()), kLow, kHigh);
  return p;
}

QPoint TimeStrip::pointOf(int lane, std::int64_t tick) const {
  const Parts p = parts();
  return QPointF(std::floor(xOf(p, static_cast<double>(tick))), middleOf(p, lane)).toPoint();
}

QRect TimeStrip::nameBox(int lane) const {
  const Parts p = parts();
  return {0, laneTop(p, lane), p.lanes.left() - Theme::kMedium, p.each};
}

bool TimeStrip::scrollLines(int pixels) {
  const Parts p = parts();
  const int room = lines() * p.each - p.lanes.height();
  m_scroll = std::clamp(m_scroll + pixels, 0, std::max(0, room));
  if (pixels) update();
  return room > 0;
}

void TimeStrip::revealLane(int lane) {
  const Parts p = parts();
  const int top = laneTop(p, lane), bottom = top + p.each - 1;
  if (top < p.lanes.top()) scrollLines(top - p.lanes.top());
  else if (bottom > p.lanes.bottom()) scrollLines(bottom - p.lanes.bottom());
}

std::int64_t TimeStrip::tickAt(int x) const {
  const double tick = std::floor(axis().item(x - parts().lanes.left()));
  return static_cast<std::int64_t>(std::clamp(tick, 0.0, std::max(0.0, axis().count - 1)));
}

TickRange TimeStrip::ticksInSight() const {
  const auto [begin, end] = axis().inSight();
  return {Tick(begin), Tick(std::max(begin, end - 1))};
}

/// The tick of the nearest mark of a lane, or of the row of marks, else the one under the pixel.
int TimeStrip::snapped(int lane, int x) const {
  const Parts p = parts();
  double best = kNear + 0.5;
  std::int64_t tick = tickAt(x);
  if (axis().scale > 2 * kNear) return static_cast<int>(tick);
  const auto offer = [&](std::int64_t one) {
    const double far = std::abs(xOf(p, static_cast<double>(one)) - x - 0.5);
    if (far < best) best = far, tick = one;
  };
  if (lane >= 0) {
    const std::vector<int>& edits = m_tree->lanes()[at(lane)].edits;
    const std::int64_t least = tickAt(x - kNear), most = tickAt(x + kNear);
    const auto tickOf = [this](int id) { return m_tree->tick(id); };
    auto one = std::ranges::lower_bound(edits, least, {}, tickOf);
    for (; one != edits.end() && tickOf(*one) <= most; ++one) offer(tickOf(*one));
  } else {
    for (const auto& [source, marks] : m_marks)
      for (const TimeMark& mark : marks) offer(mark.tick);
  }
  return static_cast<int>(tick);
}

/// Names have a line and no tick, the ruler and the row of marks a tick and no line.
CanvasCell TimeStrip::cellAt(QPoint point) const {
  const Parts p = parts();
  if (!items() || point.y() > p.lanes.bottom() || point.x() > p.lanes.right()) return {};
  const int lane = point.y() < p.lanes.top() ? -1 : (point.y() - p.lanes.top() + m_scroll) / p.each;
  if (lane >= lines()) return {};
  if (point.x() < p.lanes.left()) return {lane, -1};
  if (axis().at(point.x() - p.lanes.left()) < 0) return {};
  return {lane, snapped(lane, point.x())};
}

CanvasCell TimeStrip::focusCell() const {
  if (!items()) return {};
  return {m_tree->laneOf(m_tree->entryAt(m_tree->lane(), m_shown)), static_cast<int>(m_shown)};
}

void TimeStrip::choose(CanvasCell cell) {
  if (cell.line < 0) return;
  const TickLane& lane = m_tree->lanes()[at(cell.line)];
  const std::int64_t tick = cell.item < 0 ? m_tree->tick(lane.tip) : cell.item;
  revealLane(cell.line);
  emit chosen(cell.line, tick);
}

/// Control goes by edit, which the base class says as ten items.
CanvasCell TimeStrip::stepped(const CellStep& by) const {
  if (!items()) return {};
  if (by.lines) {
    const int line = std::clamp(focusCell().line + by.lines, 0, lines() - 1);
    return line == focusCell().line ? CanvasCell() : CanvasCell{line, static_cast<int>(m_shown)};
  }
  std::optional<std::int64_t> tick;
  const std::int64_t tip = m_tree->tick(m_tree->lanes()[at(m_tree->lane())].tip);
  if (by.far) tick = std::clamp<std::int64_t>(m_shown + by.items, 0, tip);
  else tick = m_tree->tickBeside(m_tree->lane(), m_shown, by.items > 0, std::abs(by.items) > 1);
  if (!tick || *tick == m_shown) return {};
  return {m_tree->laneOf(m_tree->entryAt(m_tree->lane(), *tick)), static_cast<int>(*tick)};
}

bool TimeStrip::markRange(int from, int to, bool over) {
  if (!items()) return false;
  m_from = over ? -1 : from;
  m_to = to;
  update();
  const auto [first, last] = std::minmax({tickAt(from), tickAt(to)});
  if (over) emit limited({Tick(first), Tick(last)});
  return true;
}

QStringList TimeStrip::markWords(std::int64_t first, std::int64_t last) const {
  QStringList out;
  for (const auto& [source, marks] : m_marks)
    for (const TimeMark& mark : marks)
      if (first <= mark.tick && mark.tick <= last) out << tr("tick %1: %2").arg(mark.tick).arg(mark.words);
  return out;
}

QString TimeStrip::describe(CanvasCell cell) const {
  constexpr qsizetype kMost = 12;
  if (!items() || !cell.there()) return {};
  const std::int64_t wide = axis().scale > 1 ? 0 : static_cast<std::int64_t>(kNear / axis().scale);
  if (cell.line < 0) {
    QStringList all = markWords(cell.item - wide, cell.item + wide);
    if (all.size() > kMost) all = all.mid(0, kMost) << tr("and %1 more").arg(all.size() - kMost);
    return all.isEmpty() ? tr("tick %1").arg(cell.item) : all.join(QLatin1Char('\n'));
  }
  const TickLane& lane = m_tree->lanes()[at(cell.line)];
  const int entry = cell.item < 0 ? lane.tip : m_tree->entryAt(cell.line, cell.item);
  QStringList out{tr("tick %1").arg(m_tree->tick(entry)), lane.name};
  const QString words = m_tree->editOf(entry).words;
  out << (entry == 0 ? tr("opening") : words.isEmpty() ? tr("generated") : words);
  if (m_tree->left(entry)) out << tr("%1 left").arg(counted(m_tree->left(entry), tr("row"), tr("rows")));
  out << (m_tree->kept(entry) ? tr("state kept") : tr("state dropped, to be executed again"));
  if (entry == m_tree->current()) out << tr("the session stands here");
  return out.join(QStringLiteral("  ·  "));
}

QString TimeStrip::readout() const { return describe(hovered().there() ? hovered() : focusCell()); }

std::vector<LegendEntry> TimeStrip::legend(const Theme& theme) const {
  constexpr int kRoom = 14;
  std::vector<LegendEntry> out;
  for (int sort = 0; sort < kMarkSorts; ++sort) {
    const auto one = static_cast<MarkSort>(sort);
    if (sort >= kEditSorts && one != MarkSort::Stop) continue;
    out.push_back({wordsOf(one), kRoom, [one, &theme](QPainter& painter, const QRect& box) {
                     paintMark(painter, QPointF(box.left() + 4, box.center().y() + 0.5), one, theme);
                   }});
  }
  const auto line = [&](const QString& words, double tall, const QColor& colour) {
    out.push_back({words, kRoom + 6, [=](QPainter& painter, const QRect& box) {
                     painter.fillRect(QRectF(box.left(), box.center().y() + 1 - std::floor(tall / 2), 14, tall),
                                      colour);
                   }});
  };
  line(tr("rows left"), 3, theme.ghost);
  line(tr("state kept"), 3, theme.muted);
  line(tr("dropped"), 1, theme.muted);
  return out;
}

void TimeStrip::paintContent(QPainter& painter, const Theme& theme) {
  const Parts p = parts();
  if (!items()) return;
  paintRuler(painter, p.ruler, width(), axis(), theme);
  painter.setClipRect(QRect(0, p.lanes.top(), width(), p.lanes.height()));
  const int first = std::max(0, m_scroll / p.each);
  const int end = std::min(lines(), (m_scroll + p.lanes.height()) / p.each + 1);
  if (m_tree->lane() >= first && m_tree->lane() < end)
    painter.fillRect(QRect(0, laneTop(p, m_tree->lane()), width(), p.each), theme.raised);
  for (int lane = first; lane < end; ++lane) paintName(painter, p, lane, theme);
  painter.setClipRect(p.lanes.adjusted(-kOver, 0, kOver, 0));
  paintElbows(painter, p, theme);
  for (int lane = first; lane < end; ++lane) {
    paintLine(painter, p, lane, theme);
    paintLeft(painter, p, lane, theme);
    paintEditMarks(painter, p, lane, theme);
  }
  painter.setClipping(false);
  paintOtherMarks(painter, p, theme);
  paintLimits(painter, p, theme);
  paintPlaces(painter, p, theme);
  paintMore(painter, p, theme);
  paintLegend(painter, p.legend, legend(theme), theme);
}

/// Ticks outside of the limits are dimmed; the range that is being marked is tinted.
void TimeStrip::paintLimits(QPainter& painter, const Parts& p, const Theme& theme) const {
  const QRect all = p.marks.united(p.lanes);
  if (const auto& limits = context().tickLimits()) {
    const double left = p.lanes.left() + axis().pixel(static_cast<double>(limits->first.value())),
                 right = p.lanes.left() + axis().pixel(static_cast<double>(limits->last.value() + 1));
    const auto dim = [&](double from, double to) {
      const double begin = std::max<double>(from, all.left()), end = std::min<double>(to, width());
      if (end > begin)
        painter.fillRect(QRectF(begin, all.top(), end - begin, all.height()), Theme::faded(theme.surface, 190));
    };
    dim(all.left(), left);
    dim(right, width());
    for (const double x : {left, right - 1})
      if (x >= all.left() && x <= all.right())
        painter.fillRect(QRectF(std::round(x), p.ruler.bottom() - 5, 1, all.height() + 5), theme.warning);
  }
  if (m_from < 0) return;
  const int from = std::clamp(std::min(m_from, m_to), all.left(), all.right()),
            to = std::clamp(std::max(m_from, m_to), all.left(), all.right());
  painter.fillRect(QRect(from, all.top(), to - from + 1, all.height()), Theme::faded(theme.accent, 60));
}

/// Down from the lane that a branch parts from.
void TimeStrip::paintElbows(QPainter& painter, const Parts& p, const Theme& theme) const {
  for (int lane = 0; lane < lines(); ++lane) {
    const TickLane& one = m_tree->lanes()[at(lane)];
    if (one.from < 0) continue;
    const double x = std::round(xOf(p, static_cast<double>(m_tree->tick(one.from))));
    const double top = middleOf(p, m_tree->laneOf(one.from)), bottom = middleOf(p, lane);
    if (x < p.lanes.left() || x > p.lanes.right() || bottom < p.lanes.top() || top > p.lanes.bottom()) continue;
    painter.fillRect(QRectF(x, top, 1, bottom - top), lineColour(m_tree->onWay(lane, m_tree->current()) >= 0, theme));
  }
}

/// A thin line from where the branch parts to its tip, thicker where states are kept; in colour on the way to the
/// present state.
void TimeStrip::paintLine(QPainter& painter, const Parts& p, int lane, const Theme& theme) const {
  const TickLane& one = m_tree->lanes()[at(lane)];
  const double y = middleOf(p, lane), least = p.lanes.left() - kOver, most = p.lanes.right() + kOver;
  const auto x = [&](std::int64_t tick) { return std::clamp(xOf(p, static_cast<double>(tick)), least, most); };
  const double begin = x(m_tree->tick(one.from < 0 ? 0 : one.from)), end = x(m_tree->tick(one.tip));
  const auto line = [&](double from, double to, double tall, bool onWay) {
    if (to >= from && to > least && from < most)
      painter.fillRect(
          QRectF(std::round(from), y - std::floor(tall / 2), std::max(1.0, std::round(to) - std::round(from)), tall),
          lineColour(onWay, theme));
  };
  const int last = m_tree->onWay(lane, m_tree->current());
  const double present = last < 0 ? least : x(m_tree->tick(last));  // the present state's way leaves the lane here
  line(begin, std::min(present, end), 1, true);
  line(std::max(begin, present), end, 1, false);
  for (const auto& [older, newer] : one.kept) {
    const double from = x(older) - 1, to = x(newer) + 1;
    line(from, std::min(present, to), 3, true);
    line(std::max(from, present), to, 3, false);
  }
}

/// Rows that left layers, as runs of columns below the line.
void TimeStrip::paintLeft(QPainter& painter, const Parts& p, int lane, const Theme& theme) const {
  const std::vector<int>& left = m_tree->lanes()[at(lane)].left;
  const double y = middleOf(p, lane) + kLeftTop - kLeftTall / 2, wide = std::max(1.0, std::floor(axis().scale) - 1);
  double from = -1, to = -1;
  const auto flush = [&] {
    if (to > from) painter.fillRect(QRectF(p.lanes.left() + from, y, to - from, kLeftTall), theme.ghost);
  };
  for (const int id : left) {
    const double x = std::floor(axis().pixel(static_cast<double>(m_tree->tick(id))));
    if (x + wide < 0 || x > axis().extent) continue;
    if (x > to) flush(), from = x;
    to = x + wide;
  }
  flush();
}

void TimeStrip::paintEditMarks(QPainter& painter, const Parts& p, int lane, const Theme& theme) const {
  MarkColumns columns(at(p.lanes.width()));
  const TickLane& one = m_tree->lanes()[at(lane)];
  for (std::size_t i = 0; i < one.edits.size(); ++i) addMark(columns, axis(), m_tree->tick(one.edits[i]), one.sorts[i]);
  paintMarks(painter, QPointF(p.lanes.left(), middleOf(p, lane) + 0.5), columns, theme);
}

void TimeStrip::paintName(QPainter& painter, const Parts& p, int lane, const Theme& theme) const {
  const bool current = lane == m_tree->lane();
  painter.setFont(current ? theme.smallStrong : theme.small);
  painter.setPen(current ? theme.text : theme.muted);
  const QRect box = nameBox(lane).adjusted(Theme::kMedium, 0, 0, 0);
  painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(m_tree->lanes()[at(lane)].name, Qt::ElideMiddle, box.width()));
  if (current) painter.fillRect(QRect(0, laneTop(p, lane), 3, p.each), theme.accent);
}

void TimeStrip::paintOtherMarks(QPainter& painter, const Parts& p, const Theme& theme) const {
  painter.fillRect(QRect(0, p.marks.bottom(), width(), 1), theme.grid);
  const QRect name(Theme::kMedium, p.marks.top(), p.marks.left() - 2 * Theme::kMedium, p.marks.height());
  painter.setFont(theme.small);
  painter.setPen(theme.faint);
  painter.drawText(name, Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(m_marksName, Qt::ElideRight, name.width()));
  MarkColumns columns(at(p.marks.width()));
  for (const auto& [source, marks] : m_marks)
    for (const TimeMark& mark : marks) addMark(columns, axis(), mark.tick, mark.sort);
  paintMarks(painter, QPointF(p.marks.left(), p.marks.center().y() + 0.5), columns, theme);
}

/// The shown tick, where the session stands, and the tick under the pointer.
void TimeStrip::paintPlaces(QPainter& painter, const Parts& p, const Theme& theme) const {
  const auto seen = [&](double x) { return x >= p.lanes.left() && x <= p.lanes.right() + 1; };
  const auto upright = [&](double tick, const QColor& colour) {
    const double x = xOf(p, tick);
    if (seen(x)) painter.fillRect(QRectF(std::floor(x), p.marks.top(), 1, p.lanes.bottom() - p.marks.top()), colour);
  };
  if (hovered().item >= 0) upright(hovered().item, theme.hover);
  upright(static_cast<double>(m_shown), theme.focus);
  painter.setRenderHint(QPainter::Antialiasing);
  const auto spot = [&](int entry, double radius, const QPen& pen, const QBrush& brush) {
    const double x = xOf(p, static_cast<double>(m_tree->tick(entry))), y = middleOf(p, m_tree->laneOf(entry)) + 0.5;
    if (!seen(x) || !p.lanes.adjusted(0, -1, 0, 1).contains(QPoint(p.lanes.left(), static_cast<int>(y)))) return;
    painter.setPen(pen);
    painter.setBrush(brush);
    painter.drawEllipse(QPointF(std::floor(x) + 0.5, y), radius, radius);
  };
  spot(m_tree->current(), 4, QPen(theme.surface, 1), theme.accent);
  spot(m_tree->entryAt(m_tree->lane(), m_shown), 6.5, QPen(theme.focus, 1.5), Qt::NoBrush);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

/// Says how many lanes lie above and below those in sight.
void TimeStrip::paintMore(QPainter& painter, const Parts& p, const Theme& theme) const {
  const int above = m_scroll / p.each, below = lines() - (m_scroll + p.lanes.height()) / p.each;
  painter.setFont(theme.small);
  painter.setPen(theme.faint);
  const auto say = [&](const QString& text, int top) {
    const QRect box(p.lanes.right() - 110, top, 110, 16);
    const int wide = painter.fontMetrics().horizontalAdvance(text);
    painter.fillRect(QRect(box.right() - wide - 3, box.top(), wide + 6, box.height()),
                     Theme::faded(theme.surface, 220));
    painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter, text);
  };
  if (above > 0) say(tr("▲ %1 more").arg(above), p.lanes.top());
  if (below > 0) say(tr("▼ %1 more").arg(below), p.lanes.bottom() - 15);
}

}  // namespace kvlab
