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

std::shared_ptr<WlodState> withPins(const CacheState& state) {
  auto out = std::make_shared<WlodState>(*state.wlod);
  out->rules.working.pinned.clear();
  for (std::size_t i = 0; i < state.context.size(); ++i)
    if (const TreeNode entry = out->context.entries()[i]; entry.level == 0 && state.ledger[state.context[i]].pinned)
      out->rules.working.pinned.push_back(entry.start);
  return out;
}

}  // namespace kvlab
