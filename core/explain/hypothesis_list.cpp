// SPDX-License-Identifier: Apache-2.0
#include "core/explain/engine_hypotheses.h"

#include "core/explain/fault_trials.h"

namespace kvlab {

std::span<const EngineHypothesis> engineHypotheses() {
  static const std::vector<EngineHypothesis> all = [] {
    std::vector<EngineHypothesis> out;
    for (const auto family : {rowHypotheses(), seenRowsHypotheses(), turnHypotheses(), settingHypotheses()})
      out.insert(out.end(), family.begin(), family.end());
    return out;
  }();
  return all;
}

}  // namespace kvlab
