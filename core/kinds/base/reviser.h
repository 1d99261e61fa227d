// SPDX-License-Identifier: Apache-2.0
// Sees a tick before and after its pass and may add to it: brightness culling, eviction policies, the focus allocator.
// Revisers of a session stand in one list and are asked in its order. No state of their own; engine thread.
#pragma once
#include "core/kinds/base/call_context.h"

namespace kvlab {

class Reviser {
 public:
  virtual ~Reviser() = default;
  /// What passes over this state are to bring back for it.
  virtual Wanted wants(const CacheState&) const { return {}; }
  /// May add actions to the part, and note in `observed` what it thought.
  virtual Status before(CacheState& /*observed*/, TickPart&, CallContext&) const { return ok(); }
  /// True if it looks at what a tick's last pass has left before rows settle.
  virtual bool follows(const CacheState&) const { return false; }
  /// Changes what waits for its commit. `actions` takes what it did. Where this fails, the slots that `applied` gained
  /// are given back unless call.poolsTouched.
  virtual Result<Applied> after(Applied applied, const TickPart&, CallContext&,
                                std::vector<Action>& /*actions*/) const {
    return applied;
  }
  /// True if a tick of its own would change something: asked when a prompt has ended.
  virtual bool wantsTick(const CacheState&, CallContext&) const { return false; }
};

}  // namespace kvlab
