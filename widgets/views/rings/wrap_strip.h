// SPDX-License-Identifier: GPL-3.0-or-later
// The filled slots of a ring, tick by tick: slots upwards, ticks to the right. At a wrap the band leaves at the top and
// enters again at the bottom. A click goes to a tick. Columns that share a pixel are painted over each other; none is
// skipped. GUI thread.
#pragma once
#include "core/api/snapshot.h"
#include "widgets/base/history_reader.h"
#include "widgets/canvas/tick_picker.h"

namespace kvlab {

class WrapStrip : public TickPicker {
  Q_OBJECT
 public:
  explicit WrapStrip(QWidget* parent);
  /// Shows the ring of `layer` in each snapshot.
  void show(HistoryReader::History history, CacheLayer layer, Tick shown);
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
  CacheLayer m_layer{0};  // layer of the points
  HistoryReader m_reader;
};

}  // namespace kvlab
