// SPDX-License-Identifier: Apache-2.0
#include "core/state/wlod_state.h"

#include "core/state/cache_state.h"

namespace kvlab {

WlodState WlodState::ownCopy() const {
  WlodState copy = *this;
  copy.tree = tree.ownCopy();
  copy.context = context.ownCopy();
  copy.rows = rows.ownCopy();
  copy.ledger = ledger.ownCopy();
  if (draft) copy.draft->before = std::make_shared<const CacheState>(kvlab::ownCopy(*draft->before));
  return copy;
}

}  // namespace kvlab
