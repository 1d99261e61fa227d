// SPDX-License-Identifier: Apache-2.0
// lablup/mlxcel#994: a rollback counts the accepted tokens among the rejected ones.
#include <ranges>

#include "core/bugs/bug_file.h"
#include "core/state/own_map.h"

namespace kvlab {
namespace {

void rewindTwoTooMany(StateBend& bend) {
  if (!bend.cutsTail()) return;
  for (const CacheLayer layer : bend.state.layers() | std::views::drop(1)) {
    ResidencyView& map = ownMap(bend.state, layer);
    for (int i = 0; i < 2 && map.resident() > 1; ++i) {
      map.ledger = map.ledger.prefix(map.ledger.size() - 1);
      map.phases = map.phases.prefix(map.phases.size() - 1);
      map.slotOf = map.slotOf.prefix(map.slotOf.size() - 1);
    }
  }
}

}  // namespace

KVLAB_BUG_KIND(rewind_two_too_many, .state = rewindTwoTooMany)

}  // namespace kvlab
