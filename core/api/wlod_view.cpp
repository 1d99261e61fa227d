// SPDX-License-Identifier: Apache-2.0
#include "core/api/wlod_view.h"

namespace kvlab {

const char* name(DirtyWhy why) {
  static constexpr const char* kNames[] = {"clean", "hierarchical", "temporal", "both"};
  return kNames[static_cast<int>(why)];
}

}  // namespace kvlab
