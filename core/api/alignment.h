// SPDX-License-Identifier: Apache-2.0
// Whether the cache and its mirror are known to agree. Values; any thread.
#pragma once
#include <string>
#include <vector>

#include "core/api/report.h"

namespace kvlab {

/// What a check has named and no later check has cleared.
struct Finding {
  Violation violation;
  Tick since;         // after which a check named it first
  std::string blame;  // the event that wrote the row last: "fault (tick 1) wrote the row last"
};

struct Alignment {
  std::vector<Finding> findings;
  Tick checked{-1};       // after which every map and tag was checked; -1 = never
  Tick full{-1};          // after which everything was
  std::string unchecked;  // the command since then; empty: the present state is the checked one
};

}  // namespace kvlab
