// SPDX-License-Identifier: Apache-2.0
// ekryski/mlx-swift-lm PR#90: the write offset does not move.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void oneSlot(PassBend& bend) {
  for (std::int32_t& slot : bend.written) slot = bend.written.front();
}

}  // namespace

KVLAB_BUG_KIND(one_slot, .pass = oneSlot)

}  // namespace kvlab
