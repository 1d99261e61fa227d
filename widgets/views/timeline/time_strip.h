// SPDX-License-Identifier: GPL-3.0-or-later
// All ticks of the history on one axis, a lane for each branch. Marks stand for edits; a row above the lanes has marks
// of other sources, such as the focused row and the breakpoints. A click or key chooses a tick on a lane. If ticks
// share a column of pixels, every sort of mark on it is visible. Owned by TimeLineView. GUI thread. Device-independent
// pixels.
#pragma once
#include <map>

#include "widgets/canvas/axis_canvas.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/views/timeline/tick_tree.h"

namespace kvlab {

class TimeStrip : public AxisCanvas {
  Q_OBJECT
 public:
  TimeStrip(InspectorContext& context, QWidget* parent);

  /// The tree is the view's.
  void show(const TickTree* tree, std::int64_t shownTick);
  /// Marks above the lanes, by their source; an empty list takes the source away.
  void setMarks(const QString& source, std::vector<TimeMark> marks);
  const std::map<QString, std::vector<TimeMark>>& marks() const { return m_marks; }
  /// Name of the row of marks, at its left.
  void setMarksName(const QString& name);
  QString readout() const override;
  /// The facts about a tick on a lane, a line each.
  QString describe(CanvasCell cell) const;
  /// The cell that the menu was opened over, else the focused one.
  CanvasCell menuCell() const { return m_menuCell.there() ? m_menuCell : focusCell(); }
  void forgetMenu() { m_menuCell = {}; }
  /// The ticks in sight, whole or in part.
  TickRange ticksInSight() const;
  /// Middle of a tick on a lane; for tests.
  QPoint pointOf(int lane, std::int64_t tick) const;
  QRect nameBox(int lane) const;

 signals:
  /// The tick of a lane was clicked, or a key led there.
  void chosen(int lane, qint64 tick);
  void limited(kvlab::TickRange range);

 protected:
  void paintContent(QPainter& painter, const Theme& theme) override;
  CanvasCell cellAt(QPoint point) const override;
  CanvasCell focusCell() const override;
  void choose(CanvasCell cell) override;
  int lines() const override { return m_tree ? static_cast<int>(m_tree->lanes().size()) : 0; }
  int items() const override { return m_tree && m_tree->size() ? static_cast<int>(m_tree->lastTick()) + 1 : 0; }
  QRect axisArea() const override { return items() ? parts().lanes : QRect(); }
  CanvasCell stepped(const CellStep& by) const override;
  QString tipOf(CanvasCell cell) const override { return describe(cell); }
  void menuAbout(CanvasCell cell) override { m_menuCell = cell; }
  bool markRange(int from, int to, bool over) override;
  bool scrollLines(int pixels) override;

 private:
  struct Parts {
    QRect ruler, marks, lanes, legend;
    int each = 1;  // height of a lane
  };
  Parts parts() const;
  int laneTop(const Parts& parts, int lane) const { return parts.lanes.top() + lane * parts.each - m_scroll; }
  double middleOf(const Parts& parts, int lane) const { return laneTop(parts, lane) + std::floor(parts.each / 2.0); }
  double xOf(const Parts& parts, double tick) const { return parts.lanes.left() + axis().pixel(tick + 0.5); }
  void revealLane(int lane);
  int snapped(int lane, int x) const;
  std::int64_t tickAt(int x) const;
  QStringList markWords(std::int64_t first, std::int64_t last) const;
  std::vector<LegendEntry> legend(const Theme& theme) const;

  void paintLimits(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintElbows(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintLine(QPainter& painter, const Parts& parts, int lane, const Theme& theme) const;
  void paintLeft(QPainter& painter, const Parts& parts, int lane, const Theme& theme) const;
  void paintEditMarks(QPainter& painter, const Parts& parts, int lane, const Theme& theme) const;
  void paintName(QPainter& painter, const Parts& parts, int lane, const Theme& theme) const;
  void paintOtherMarks(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintPlaces(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintMore(QPainter& painter, const Parts& parts, const Theme& theme) const;

  const TickTree* m_tree = nullptr;
  std::map<QString, std::vector<TimeMark>> m_marks;
  QString m_marksName;
  std::int64_t m_shown = 0;
  int m_lane = -1;             // lane of the current branch, when it was last brought into sight
  int m_scroll = 0;            // pixels
  int m_from = -1, m_to = -1;  // pixels of the range that is being marked
  CanvasCell m_menuCell;
};

}  // namespace kvlab
