// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline column of the event tree: a header with time marks, a delegate that paints each event on the common
// axis, and the tree that zooms the axis. GUI thread.
#pragma once
#include <QHeaderView>
#include <QTreeView>
#include <vector>

#include "widgets/views/events/event_model.h"

namespace kvlab {

/// The common time axis of a column of bars: microseconds to pixels and back, zoom at a point, round tick marks. A
/// plain value.
struct TimeAxis {
  double begin = 0, end = 1;          // shown range, microseconds
  double fullBegin = 0, fullEnd = 1;  // the whole tick

  void setFull(double from, double to);
  void reset();
  bool zoomed() const { return begin > fullBegin || end < fullEnd; }
  double span() const { return end - begin; }
  double toX(double us, double width) const { return (us - begin) / span() * width; }
  double toUs(double x, double width) const { return begin + x / width * span(); }
  /// factor < 1 zooms in; the time at `x` stays there.
  void zoom(double factor, double x, double width);
  void pan(double pixels, double width);
  /// Shows [from, to) with a margin of 1/20 on both sides.
  void show(double from, double to);
  /// Round values inside the range, at least `pixels` apart.
  std::vector<double> marks(double width, double pixels) const;

 private:
  void clip();
};

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
  void changeEvent(QEvent* event) override;
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
