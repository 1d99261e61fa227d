// SPDX-License-Identifier: Apache-2.0
// Eviction policies: they use the statistics of a tick's pass and evict rows in the same commit. Engine thread.
// semantics.md, section 6.
#pragma once
#include "core/parts/reviser.h"

namespace kvlab {

class PolicyReviser : public Reviser {
 public:
  Wanted wants(const CacheState& state) const override;
  bool follows(const CacheState& state) const override { return state.policy != nullptr; }
  Result<Applied> after(Applied applied, const TickPart& part, CallContext& call,
                        std::vector<Action>& actions) const override;
};

}  // namespace kvlab
