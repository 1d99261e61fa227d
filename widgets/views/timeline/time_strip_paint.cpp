// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the time line: lanes from back to front, then marks and places.
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/views/timeline/time_strip.h"

namespace kvlab {
namespace {
constexpr int kOver = 6;                       // pixels by which marks at the ends may stand out
constexpr double kLeftTop = 8, kLeftTall = 3;  // top and height of the line of rows that left; below the lane's line

QColor lineColour(bool onWay, const Theme& theme) {
  return onWay ? Theme::mix(theme.surface, theme.accent, 0.75) : theme.muted;
}
}  // namespace

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
  for (int lane = first; lane < end; ++lane) paintLane(painter, p, lane, theme);
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

void TimeStrip::paintLane(QPainter& painter, const Parts& p, int lane, const Theme& theme) const {
  paintLine(painter, p, lane, theme);
  paintLeft(painter, p, lane, theme);
  paintEditMarks(painter, p, lane, theme);
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
