// SPDX-License-Identifier: Apache-2.0
// transformers PR#45940: the mask is as long as the window before that is filled.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void unfilledRingRead(PassBend& bend) {
  if (!bend.partly || bend.poolSlots == 0) return;
  bend.slots.push_back(bend.poolSlots - 1);
  bend.phases.push_back(0);
  for (std::int32_t& end : bend.end) end = static_cast<std::int32_t>(bend.slots.size());
}

}  // namespace

KVLAB_BUG_KIND(unfilled_ring_read, .pass = unfilledRingRead)

}  // namespace kvlab
