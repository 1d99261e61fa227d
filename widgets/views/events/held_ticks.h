// SPDX-License-Identifier: GPL-3.0-or-later
// The ticks at which a condition held, as the table `ticks` lists them. The table covers the ticks up to a limit; later
// ticks are unknown. A value.
#pragma once
#include <QString>
#include <algorithm>
#include <optional>
#include <vector>

#include "core/api/ids.h"

namespace kvlab {

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

}  // namespace kvlab
