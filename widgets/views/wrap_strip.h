// SPDX-License-Identifier: GPL-3.0-or-later
// Which slots of a ring were filled, tick by tick: slots upwards, ticks to the right, so that a wrap is
// where the band leaves at the top and comes in again at the bottom. The place to go to the ticks before,
// during and after one. Columns that share a pixel cover one another; nothing is left out. GUI thread.
#pragma once
#include <QWidget>

#include "core/api/snapshot.h"

namespace kvlab {

class WrapStrip : public QWidget {
  Q_OBJECT
 public:
  explicit WrapStrip(QWidget* parent);
  /// The ring of `layer` in each of the snapshots.
  void show(const std::vector<SnapshotPtr>& history, Layer layer, Tick shown);
  /// The tick under a point; nothing outside of the columns.
  std::optional<Tick> tickAt(const QPointF& point) const;
  /// The nearest tick before (or after) the shown one whose commit passed slot 0.
  std::optional<Tick> wrapBeside(bool after) const;
  QSize sizeHint() const override;

 signals:
  void picked(Tick tick);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Point {
    Tick tick;
    std::optional<RingState> ring;
    bool wrapped = false;  // the pointer passed slot 0 in this tick
  };
  QString describe(const Point& point) const;
  double columnWidth() const;
  QRectF plot() const;
  void step(int by);
  void pickAt(const QPointF& point);

  std::vector<Point> m_points;
  int m_shown = -1;  // place in m_points
};

}  // namespace kvlab
