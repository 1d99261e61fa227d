// SPDX-License-Identifier: GPL-3.0-or-later
// Which slots of a ring were filled, tick by tick: slots upwards, ticks to the right, so that a wrap is
// where the band leaves at the top and comes in again at the bottom. The place to go to the ticks before,
// during and after one. Columns that share a pixel cover one another; nothing is left out. GUI thread.
#pragma once
#include "core/api/snapshot.h"
#include "widgets/canvas/tick_picker.h"

namespace kvlab {

class WrapStrip : public TickPicker {
  Q_OBJECT
 public:
  explicit WrapStrip(QWidget* parent);
  /// The ring of `layer` in each of the snapshots.
  void show(const std::vector<SnapshotPtr>& history, CacheLayer layer, Tick shown);
  /// The nearest tick before (or after) the shown one whose commit passed slot 0.
  std::optional<Tick> wrapBeside(bool after) const;
  QSize sizeHint() const override;

 protected:
  int count() const override { return static_cast<int>(m_points.size()); }
  Tick tickOf(int place) const override { return m_points[at(place)].tick; }
  QString describe(int place) const override;
  int placeAt(const QPointF& point) const override;
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  struct Point {
    Tick tick;
    std::optional<RingState> ring;
    bool wrapped = false;  // the pointer passed slot 0 in this tick
  };
  double columnWidth() const;
  QRectF plot() const;

  std::vector<Point> m_points;
};

}  // namespace kvlab
