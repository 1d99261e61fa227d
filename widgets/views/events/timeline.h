// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline column of the event tree: a header with time marks, a delegate that paints each event on the common
// axis, and the tree that zooms the axis. GUI thread.
#pragma once
#include <QHeaderView>
#include <QTreeView>

#include "widgets/views/events/event_model.h"
#include "widgets/views/events/time_axis.h"

namespace kvlab {

/// Owns the axis and paints its marks in the last section.
class TimelineHeader : public QHeaderView {
  Q_OBJECT
 public:
  explicit TimelineHeader(QWidget* parent);
  TimeAxis axis;

 signals:
  void resetAsked();

 protected:
  void paintSection(QPainter* painter, const QRect& rect, int section) const override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
};

/// Ctrl+wheel zooms at the pointer, Shift+wheel and dragging pan, Z shows the selected event, 0 the whole tick.
class TimelineTree : public QTreeView {
  Q_OBJECT
 public:
  explicit TimelineTree(QWidget* parent);
  TimelineHeader& timeline() { return *m_header; }
  void showWhole();
  void showSelected();

 protected:
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void fitColumns();

 private:
  /// Pixels from the left of the timeline column; empty outside it.
  std::optional<double> inTimeline(const QPointF& point) const;
  double timelineWidth() const;
  void refresh();

  TimelineHeader* m_header;
  std::optional<QPointF> m_dragFrom;
};

}  // namespace kvlab
