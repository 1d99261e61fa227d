// SPDX-License-Identifier: Apache-2.0
// vllm#37076, sglang PR#27586: a block that is in use goes back to the pool.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void slotFreedTwice(StateBend& bend) {
  const CacheLayer layer(0);
  const ResidencyView& map = bend.state.map(layer);
  if (map.resident() == 0) return;
  LayerSlots back(bend.state.groupOf.size());
  back[0].push_back(map.slotOf[at(map.first)]);
  bend.store.release(back);
}

}  // namespace

KVLAB_BUG_KIND(slot_freed_twice, .state = slotFreedTwice)

}  // namespace kvlab
