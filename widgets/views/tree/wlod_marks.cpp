// SPDX-License-Identifier: GPL-3.0-or-later
// Painting around the icicle's boxes: the tail, brackets over ranges of moments, outlines, names and the legend.
#include <QFontMetrics>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/views/tree/wlod_canvas.h"
#include "widgets/views/tree/wlod_look.h"

namespace kvlab {
namespace {
constexpr int kMapLegend = 380;  // width of the legend of the map's quantity

void paintDashed(QPainter& painter, const QRectF& box, const QColor& colour, Qt::PenStyle style, double wide = 1) {
  painter.setPen(QPen(colour, wide, style));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(box);
}
}  // namespace

/// Hatches the protected tail and incomplete blocks.
void WlodCanvas::paintTail(QPainter& painter, const Parts& p, const Theme& theme) const {
  const WlodView& view = m_tree->view();
  const double from = std::max(0.0, axis().pixel(view.protectedFrom)),
               to = std::min(axis().extent, axis().pixel(view.moments));
  if (view.protectedFrom < view.moments && to > from) {
    const QRectF area(p.rows.left() + std::round(from), p.lane.top(), std::max(2.0, std::round(to - from)),
                      p.rows.bottom() - p.lane.top() + 1);
    painter.fillRect(area, protectedBrush(theme));
    painter.fillRect(QRectF(area.left(), area.top(), 1, area.height()), theme.muted);
  }
  for (int level = 1; level <= kTopLevel; ++level) {
    const std::int32_t begin = m_tree->nodes(level) * spanOf(level);
    if (begin >= view.moments || axis().pixel(view.moments) < 0 || axis().pixel(begin) > axis().extent) continue;
    const QRectF box = boxIn(levelRect(p, level), begin, view.moments).adjusted(0.5, 0.5, -0.5, -0.5);
    paintDashed(painter, box, theme.faint, Qt::DotLine);
    painter.setFont(theme.small);
    const QString text = tr("incomplete");
    const int wide = painter.fontMetrics().horizontalAdvance(text) + 6;
    if (box.width() < wide + 4 || box.height() < painter.fontMetrics().height() + 4) continue;
    painter.fillRect(QRectF(box.center().x() - wide / 2.0, box.center().y() - 8, wide, 16), theme.surface);
    painter.setPen(theme.muted);
    painter.drawText(box, Qt::AlignCenter, text);
  }
}

/// Paints a bracket over a range of moments with the longest text that fits next to it; if the range is not visible, an
/// arrow to it. Returns the area of the text.
QRectF WlodCanvas::paintBracket(QPainter& painter, const QRect& lane, Moments span, const QStringList& texts,
                                const QColor& colour, bool dashed, const QRectF& taken) const {
  const auto write = [&](const QRectF& room, const QString& text) {
    painter.fillRect(room.adjusted(-2, 1, 2, -1), Theme::current()->surface);
    painter.setPen(colour);
    painter.drawText(room, Qt::AlignVCenter, text);
    return room;
  };
  if (axis().pixel(span.end) <= 0 || axis().pixel(span.begin) >= axis().extent) {  // not visible: point to it
    if (texts.empty()) return {};
    const bool before = axis().pixel(span.end) <= 0;
    const QString text = before ? QStringLiteral("◀ ") + texts.back() : texts.back() + QStringLiteral(" ▶");
    painter.setFont(Theme::current()->small);
    const int wide = painter.fontMetrics().horizontalAdvance(text) + 1;
    const QRectF room(before ? lane.left() + 2 : lane.right() - 2 - wide, lane.top(), wide, lane.height());
    return room.adjusted(-6, 0, 6, 0).intersects(taken) ? QRectF() : write(room, text);
  }
  const double left = lane.left() + std::clamp(std::round(axis().pixel(span.begin)), -4.0, axis().extent),
               right = std::max(left + 3, lane.left() + std::min(axis().extent, std::round(axis().pixel(span.end))));
  const double top = lane.bottom() - 6;
  if (dashed)
    for (double x = left; x < right; x += 4) painter.fillRect(QRectF(x, top, std::min(2.0, right - x), 2), colour);
  else painter.fillRect(QRectF(left, top, right - left, 2), colour);
  painter.fillRect(QRectF(left, top, 1.5, 7), colour);
  painter.fillRect(QRectF(right - 1.5, top, 1.5, 7), colour);
  painter.setFont(Theme::current()->small);
  for (const QString& text : texts) {
    const int wide = painter.fontMetrics().horizontalAdvance(text);
    for (const double from : {right + 5, left - 5 - wide}) {
      const QRectF room(from, lane.top(), wide + 1, lane.height());
      const bool fits = room.left() >= lane.left() && room.right() <= lane.right();
      if (fits && !room.adjusted(-6, 0, 6, 0).intersects(taken)) return write(room, text);
    }
  }
  return {};
}

/// Marks the moment from which on all rows were dirty.
void WlodCanvas::paintEarliest(QPainter& painter, const Parts& p, const Theme& theme) const {
  const WlodChange* change = m_tree->view().change.get();
  if (!change || m_colour != TreeColour::Change || change->earliest >= m_tree->moments() ||
      axis().pixel(change->earliest) < 0 || axis().pixel(change->earliest) > axis().extent)
    return;
  const double x = p.rows.left() + std::round(axis().pixel(change->earliest)) - 0.5;
  painter.setPen(QPen(theme.warning, 1, Qt::DashLine));
  painter.drawLine(QPointF(x, p.lane.bottom()), QPointF(x, p.rows.bottom()));
}

void WlodCanvas::paintLane(QPainter& painter, const Parts& p, const Theme& theme) const {
  const WlodView& view = m_tree->view();
  QRectF taken;
  if (view.draft) {
    taken = paintBracket(painter, p.lane, *view.draft, {tr("draft")}, theme.accent, true);
    if (axis().pixel(view.draft->end) > 0 && axis().pixel(view.draft->begin) < axis().extent)
      paintDashed(painter, boxIn(levelRect(p, 0), view.draft->begin, view.draft->end).adjusted(0, 0.5, 0, 0.5),
                  theme.accent, Qt::DashLine, 2);
  }
  if (!view.change) return;
  QStringList texts{tr("last edit, tick %1").arg(view.change->tick.value()), tr("last edit")};
  for (const TimelineChange& edit : view.change->edits) {
    paintBracket(painter, p.lane, edit.moments, texts, theme.warning, false, taken);
    texts.clear();
  }
}

/// Marks the selected node, the node of the selected decision, and the nodes under the pointer here or in other views.
void WlodCanvas::paintMarks(QPainter& painter, const Parts& p, const Theme& theme) const {
  const auto frame = [&](TreeNode node, const QColor& colour, int thick) {
    if (axis().pixel(node.end()) < 0 || axis().pixel(node.start) > axis().extent) return;
    QRectF box = boxIn(levelRect(p, node.level), node.start, std::min(node.end(), m_tree->moments()));
    if (box.width() < 4) box = QRectF(box.center().x() - 2, box.top(), 4, box.height());
    paintOutline(painter, box.adjusted(0, 0, -0.5, -0.5), colour, thick, theme);
  };
  for (const FindingMark& one : m_tree->findings().all())
    if (one.position >= 0 && one.position < m_tree->entries()) {
      const TreeNode node = m_tree->entry(one.position);
      if (axis().pixel(node.end()) < 0 || axis().pixel(node.start) > axis().extent) continue;
      paintFinding(painter, boxIn(levelRect(p, node.level), node.start, node.end()), theme);
    }
  const std::int32_t elsewhere = context().hovered().value();
  if (const auto under = hoveredNode()) frame(*under, theme.hover, 1);
  else if (elsewhere >= 0 && elsewhere < m_tree->entries()) frame(m_tree->entry(elsewhere), theme.hover, 1);
  if (m_selected) frame(*m_selected, theme.focus, 2);
  if (!m_marked || axis().pixel(m_marked->end()) < 0 || axis().pixel(m_marked->start) > axis().extent) return;
  frame(*m_marked, theme.accent, 3);
  const QRectF box = boxIn(levelRect(p, m_marked->level), m_marked->start, m_marked->end());
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme.surface, 1.5));
  painter.setBrush(theme.accent);
  painter.drawPolygon(
      QPolygonF({QPointF(box.center().x() - 6, box.top() - 9), QPointF(box.center().x() + 6, box.top() - 9),
                 QPointF(box.center().x(), box.top() - 1)}));
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void WlodCanvas::paintNames(QPainter& painter, const Parts& p, const Theme& theme) const {
  painter.setFont(theme.small);
  painter.setPen(theme.faint);
  painter.drawText(QRect(0, 0, p.ruler.left() - 8, p.ruler.height()), Qt::AlignRight | Qt::AlignVCenter, tr("moment"));
  for (int level = 0; level <= kTopLevel; ++level) {
    const QRect line = levelRect(p, level);
    const bool two = line.height() >= 30;
    const QRect room(0, line.top(), line.left() - 8, line.height());
    painter.setFont(theme.smallStrong);
    painter.setPen(theme.text);
    painter.drawText(two ? room.adjusted(0, line.height() / 2 - 15, 0, 0) : room,
                     (two ? Qt::AlignTop : Qt::AlignVCenter) | Qt::AlignRight, levelText(level));
    if (!two) continue;
    painter.setFont(theme.small);
    painter.setPen(theme.muted);
    painter.drawText(room.adjusted(0, line.height() / 2, 0, 0), Qt::AlignTop | Qt::AlignRight,
                     counted(m_tree->entriesOf(level), tr("entry"), tr("entries")));
  }
}

std::vector<LegendEntry> WlodCanvas::legend(const Theme& theme) const {
  std::vector<LegendEntry> out;
  if (!m_tree) return out;
  using Mark = std::function<void(QPainter&, const QRectF& box)>;
  const WlodView& view = m_tree->view();
  const auto add = [&](const QString& words, Mark mark, int room = 17) {
    out.push_back({words, room, [mark = std::move(mark)](QPainter& painter, const QRect& box) {
                     mark(painter, QRectF(box.left(), box.center().y() - 4, 11, 10));
                   }});
  };
  const auto why = [&](DirtyWhy is) {
    return [is, &theme](QPainter& painter, const QRectF& box) { paintWhy(painter, box, is, theme); };
  };
  const auto dashed = [](const QColor& colour, Qt::PenStyle style, double wide = 1) {
    return [=](QPainter& painter, const QRectF& box) {
      paintDashed(painter, box.adjusted(0.5, 0.5, -0.5, -0.5), colour, style, wide);
    };
  };
  const Mark inTree = [&theme, frame = dashed(theme.border, Qt::SolidLine)](QPainter& painter, const QRectF& box) {
    painter.fillRect(box, Theme::mix(theme.surface, theme.sunken, theme.dark ? 0.75 : 0.55));
    frame(painter, box);
  };
  if (m_colour == TreeColour::Change) {
    add(tr("clean"), why(DirtyWhy::Clean));
    add(tr("hierarchical: holds the edit"), why(DirtyWhy::Hierarchical));
    add(tr("temporal: comes after it"), why(DirtyWhy::Temporal));
    add(tr("both"), why(DirtyWhy::Both));
    if (!view.change || !view.change->full)
      add(tr("layer 0 kept"), [&theme](QPainter& painter, const QRectF& box) {
        paintWhy(painter, box, DirtyWhy::Temporal, theme);
        painter.fillRect(QRectF(box.left(), box.bottom() - 2, box.width(), 2), theme.ok);
      });
  } else if (m_colour == TreeColour::Level) {
    for (const int level : {2, 1, 0})
      add(levelText(level),
          [level, &theme](QPainter& painter, const QRectF& box) { painter.fillRect(box, levelColour(level, theme)); });
  } else if (m_colour == TreeColour::Map) {
    if (m_values.none())
      add(tr("no %1 yet").arg(titleInText(m_values.scale().quantity)),
          [&theme](QPainter& painter, const QRectF& box) { painter.fillRect(box, missingBrush(theme)); });
    else
      out.push_back({QString(), kMapLegend, [this, &theme](QPainter& painter, const QRect& box) {
                       kvlab::paintLegend(painter, QRect(box.left(), box.top(), kMapLegend, box.height()),
                                          m_values.legend(), theme);
                     }});
  } else {
    const bool scores = m_colour == TreeColour::Score;
    if (scores ? view.scores.empty() : view.mass.empty())
      add(scores ? tr("no scores yet") : tr("no attention yet"),
          [&theme](QPainter& painter, const QRectF& box) { painter.fillRect(box, missingBrush(theme)); });
    else
      add(
          scores ? tr("−1 less … +1 more detail")
                 : tr("attention 0 … %1").arg(static_cast<double>(m_tree->mostMass()), 0, 'g', 2),
          [scores, &theme](QPainter& painter, const QRectF& box) {
            paintColours(painter, QRectF(box.left(), box.top(), 56, box.height()),
                         colourTable(scores ? MapKind::Diverging : MapKind::Inferno, theme), scores ? 1 : 70,
                         scores ? 255 : 230);
          },
          62);
  }
  add(tr("only in the tree"), inTree);
  if (m_tree->summaries() > 0)
    add(tr("summary beside the context"), [inTree, &theme](QPainter& painter, const QRectF& box) {
      inTree(painter, box);
      painter.fillRect(box.adjusted(0, 6, 0, 0), whyColour(DirtyWhy::Clean, theme));
    });
  if (m_tree->anyCooling())
    add(tr("cooling, rounds"), [&theme](QPainter& painter, const QRectF& box) {
      paintLock(painter, QPointF(box.center().x(), box.bottom()), 8, theme.text);
    });
  if (view.change && !view.change->edits.empty())
    add(tr("last edit"), [&theme](QPainter& painter, const QRectF& box) {
      for (const QRectF& part : {QRectF(box.left(), box.top() + 2, 11, 2), QRectF(box.left(), box.top() + 2, 1.5, 7),
                                 QRectF(box.right() - 1.5, box.top() + 2, 1.5, 7)})
        painter.fillRect(part, theme.warning);
    });
  if (view.protectedFrom < view.moments)
    add(tr("protected tail"), [&theme](QPainter& painter, const QRectF& box) {
      painter.fillRect(box, protectedBrush(theme));
      painter.fillRect(QRectF(box.left(), box.top(), 1, box.height()), theme.muted);
    });
  if (view.moments % spanOf(1) != 0) add(tr("incomplete block"), dashed(theme.faint, Qt::DotLine));
  if (view.draft) add(tr("draft"), dashed(theme.accent, Qt::DashLine, 1.5));
  if (!m_tree->findings().empty()) out.push_back(findingLegend(theme));
  return out;
}

}  // namespace kvlab
