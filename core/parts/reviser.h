// SPDX-License-Identifier: Apache-2.0
// Called before and after the pass of a tick; may add actions or evict rows. Revisers: brightness culling, eviction
// policies, the focus allocator. A session calls its revisers in list order. No state of their own; engine thread.
#pragma once
#include "core/parts/call_context.h"

namespace kvlab {

class Reviser {
 public:
  virtual ~Reviser() = default;
  /// Results that passes over this state should return for this reviser.
  virtual Wanted wants(const CacheState&) const { return {}; }
  /// May add actions to the part, and may store statistics in `observed`.
  virtual Status before(CacheState& /*observed*/, TickPart&, CallContext&) const { return ok(); }
  /// True if decide() and after() should be called when the last pass of a tick ends, before rows settle. The tick may
  /// stop between the two.
  virtual bool follows(const CacheState&) const { return false; }
  /// Decides about the rows of the uncommitted state. Appends its actions to `actions`; none is carried out.
  virtual Result<Applied> decide(Applied applied, const TickPart&, CallContext&,
                                 std::vector<Action>& /*actions*/) const {
    return applied;
  }
  /// Carries out what decide() has decided.
  virtual Result<Applied> after(Applied applied, const TickPart&, CallContext&) const { return applied; }
  /// True if a tick without tokens would change something. Asked when a prompt has ended.
  virtual bool wantsTick(const CacheState&, CallContext&) const { return false; }
};

/// Passes that show what the policies of a state ask for at the end of a prompt: nothing is written. Errors: device,
/// cancelled.
Result<PromptLooks> lookAtPromptEnd(const CacheState& state, const TransactionRules& rules, CallContext& call);

/// Eviction policies: they use the statistics of a tick's pass and evict rows in the same commit. semantics.md,
/// section 6.
class PolicyReviser : public Reviser {
 public:
  Wanted wants(const CacheState& state) const override;
  bool follows(const CacheState& state) const override { return state.policy != nullptr; }
  Result<Applied> decide(Applied applied, const TickPart& part, CallContext& call,
                         std::vector<Action>& actions) const override;
  Result<Applied> after(Applied applied, const TickPart& part, CallContext& call) const override;
};

}  // namespace kvlab
