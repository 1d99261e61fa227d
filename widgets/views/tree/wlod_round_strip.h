// SPDX-License-Identifier: GPL-3.0-or-later
// One column per round of the focus allocator: expansions upwards, collapses downwards, what was refused as outlines.
// Several rounds may belong to one tick, so that columns are picked by their place. GUI thread.
#pragma once
#include <memory>
#include <vector>

#include "core/api/wlod_view.h"
#include "widgets/canvas/tick_picker.h"

namespace kvlab {

class WlodRoundStrip : public TickPicker {
  Q_OBJECT
 public:
  explicit WlodRoundStrip(QWidget* parent);
  using Rounds = std::vector<std::shared_ptr<const FocusRound>>;
  void show(Rounds rounds, int chosen);
  const Rounds& rounds() const { return m_rounds; }
  QSize sizeHint() const override { return {160, 64}; }
  QRectF column(int place) const;

 protected:
  int count() const override { return static_cast<int>(m_rounds.size()); }
  Tick tickOf(int place) const override { return Tick(place); }
  QString describe(int place) const override;
  int placeAt(const QPointF& point) const override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  int capacity() const;
  void reveal();

  Rounds m_rounds;
  int m_first = 0;  // leftmost round in sight
};

}  // namespace kvlab
