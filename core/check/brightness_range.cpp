// SPDX-License-Identifier: Apache-2.0
// Brightness stays between 0 and its maximum, and is a number.
#include "core/check/checks.h"
#include "core/check/findings.h"
#include "core/check/map_walk.h"

namespace kvlab {

void checkBrightnessRange(const CheckInput& input, std::vector<Violation>& out) {
  Findings findings("brightness_range", out);
  const CacheState& state = input.state;
  const auto max = static_cast<float>(input.manifest.brightness.max);
  for (std::size_t i = 0; i < state.brightness.size(); ++i) {
    const float b = state.brightness[i];
    if (b >= 0 && b <= max) continue;
    Place place{{}, i, {}};
    if (i < state.context.size()) place.ledger = state.context[i];
    findings.add(place,
                 "position " + std::to_string(i) + ": brightness " + std::to_string(b) + " is outside 0 .. " +
                     std::to_string(max));
  }
}

}  // namespace kvlab
