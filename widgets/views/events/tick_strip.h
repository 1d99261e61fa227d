// SPDX-License-Identifier: GPL-3.0-or-later
// One bar per tick of the history; its height is the tick's duration. A click goes to the tick. Marks: a diamond below
// ticks with an edit, a triangle above ticks that violated an invariant or failed. GUI thread.
#pragma once
#include <algorithm>
#include <optional>

#include "core/api/snapshot.h"
#include "widgets/base/history_reader.h"
#include "widgets/canvas/tick_picker.h"

namespace kvlab {

/// The ticks at which a condition held, as the table `ticks` lists them. The table covers the ticks up to a limit;
/// later ticks are unknown. A value.
struct HeldTicks {
  QString condition;
  std::vector<Tick> ticks = {};  // ascending
  Tick upTo = Tick(-1);
  std::uint64_t leaps = 0;  // leaps of the snapshot: the session went to another branch if it has others

  bool lookedAt(Tick tick) const { return tick <= upTo; }
  bool has(Tick tick) const { return std::binary_search(ticks.begin(), ticks.end(), tick); }
  /// The nearest one behind (or before) a tick.
  std::optional<Tick> beside(Tick tick, bool behind) const {
    if (behind) {
      const auto next = std::upper_bound(ticks.begin(), ticks.end(), tick);
      return next == ticks.end() ? std::nullopt : std::optional(*next);
    }
    const auto here = std::lower_bound(ticks.begin(), ticks.end(), tick);
    return here == ticks.begin() ? std::nullopt : std::optional(*std::prev(here));
  }
};

class TickStrip : public ScrolledTicks {
  Q_OBJECT
 public:
  explicit TickStrip(QWidget* parent);
  /// Ticks in which the damage of a finding may have come have a red line above them.
  void show(HistoryReader::History history, Tick shown, const std::vector<Finding>& findings = {});
  /// Ticks at which the condition did not hold are dim.
  void setHeld(std::optional<HeldTicks> held);
  QSize sizeHint() const override { return {240, 64}; }

 protected:
  int count() const override { return static_cast<int>(m_bars.size()); }
  Tick tickOf(int place) const override { return m_bars[at(place)].tick; }
  QString describe(int place) const override;
  double columnWidth() const override;
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  struct Bar {
    Tick tick;
    double us = 0;
    int edits = 0, violations = 0;
    bool ok = true;
  };
  static Bar barOf(const Snapshot& snapshot);
  QRectF place(int i) const;
  bool mayBeDamaged(Tick tick) const;
  bool isDim(Tick tick) const { return m_held && m_held->lookedAt(tick) && !m_held->has(tick); }

  HistoryReader m_reader;
  std::vector<Bar> m_bars;
  std::vector<Finding> m_findings;
  std::optional<HeldTicks> m_held;
  double m_most = 1;
};

}  // namespace kvlab
