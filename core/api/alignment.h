// SPDX-License-Identifier: Apache-2.0
// The known agreement of the cache and its mirror. Values; any thread.
#pragma once
#include <string>
#include <vector>

#include "core/api/report.h"

namespace kvlab {

/// A violation that a check has named and no later check has cleared.
struct Finding {
  Violation violation;  // as the newest check has named it, with the ticks between which it came
  std::string blame;    // the events between these ticks: "fault (tick 1) wrote the row in between"

  const DamageSince& since() const { return *violation.since; }
};

struct Alignment {
  std::vector<Finding> findings;
  Tick checked{-1};       // after which every map and tag was checked; -1 = never
  Tick full{-1};          // after which everything was
  std::string unchecked;  // the command since then; empty: the present state is the checked one
};

}  // namespace kvlab
