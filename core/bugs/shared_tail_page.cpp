// SPDX-License-Identifier: Apache-2.0
// Avarok/atlas#1193, tvm PR#16666: two states share the page of their last rows, and one of them writes to it.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void sharedTailPage(StateBend& bend) {
  if (!bend.cutsTail()) return;
  bend.store.release(bend.freed);
  bend.freed = LayerSlots(bend.state.groupOf.size());
}

}  // namespace

KVLAB_BUG_KIND(shared_tail_page, .state = sharedTailPage)

}  // namespace kvlab
