// SPDX-License-Identifier: GPL-3.0-or-later
// One bar per tick of the history, as tall as the tick was long: the place to spot a slow or a
// broken tick and to go there. Marks: a diamond under ticks that edited, a triangle over ticks that
// broke an invariant or failed. GUI thread.
#pragma once
#include <QWidget>

#include "core/api/snapshot.h"

namespace kvlab {

class TickStrip : public QWidget {
  Q_OBJECT
 public:
  explicit TickStrip(QWidget* parent);
  void show(const std::vector<SnapshotPtr>& history, Tick shown);
  /// The tick under a point of the widget; nothing outside the bars.
  std::optional<Tick> tickAt(const QPointF& point) const;
  QSize sizeHint() const override;

 signals:
  void picked(Tick tick);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Bar {
    Tick tick;
    double us = 0;
    int edits = 0, violations = 0;
    bool ok = true;
  };
  static Bar barOf(const Snapshot& snapshot);
  QString describe(const Bar& bar) const;
  double barWidth() const;
  int capacity() const;  // bars that fit
  QRectF place(int i) const;
  void reveal();
  void step(int by);
  void pickAt(const QPointF& point);

  std::vector<Bar> m_bars;
  int m_shown = -1;  // place in m_bars
  int m_first = 0;   // leftmost bar in sight
  double m_most = 1;
};

}  // namespace kvlab
