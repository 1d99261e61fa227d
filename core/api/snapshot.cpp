// SPDX-License-Identifier: Apache-2.0
#include "core/api/snapshot.h"

#include <array>

namespace kvlab {

std::string_view name(Exactness exactness) {
  constexpr std::array<std::string_view, kExactnessLabels> kNames = {
      "exact", "context-evicted", "context-edited", "phase-shifted", "inherited", "loaded"};
  return kNames[static_cast<std::size_t>(exactness)];
}

}  // namespace kvlab
