// SPDX-License-Identifier: GPL-3.0-or-later
// One column per round of the focus allocator: expansions upwards, collapses downwards, refused candidates as outlines.
// A tick may have several rounds, so columns are chosen by index. GUI thread.
#pragma once
#include <memory>
#include <vector>

#include "core/api/wlod_view.h"
#include "widgets/canvas/tick_picker.h"

namespace kvlab {

class WlodRoundStrip : public ScrolledTicks {
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
  double columnWidth() const override { return kColumn; }
  void paintEvent(QPaintEvent* event) override;

 private:
  static constexpr int kColumn = 40;

  Rounds m_rounds;
};

}  // namespace kvlab
