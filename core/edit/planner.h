// SPDX-License-Identifier: Apache-2.0
// Resolves and checks a whole action list against the state before the tick, without changing the state. If an action
// is wrong, the whole list is refused; the error names action, field and value. Positions of pending actions follow
// their tokens. semantics.md, section 3.
#pragma once
#include "core/api/action.h"
#include "core/api/manifest.h"
#include "core/edit/edit_plan.h"
#include "core/state/cache_state.h"

namespace kvlab {

struct PlanRules {
  PositionMode position = PositionMode::Context;
  bool shiftOnOverflow = false;
  std::int32_t vocab = 0;
  std::int64_t capacity = 0;         // resident rows per layer after the commit
  std::int32_t maxLength = 0;        // tokens that the rotary table reaches; 0 = unlimited
  Source addSource = Source::Model;  // source recorded for `add` tokens
  std::int32_t more = 0;             // further tokens of the same tick that must fit
};

Result<EditPlan> planEdit(const CacheState& state, const PlanRules& rules, std::vector<Action> actions);
/// Tokens that a list may still append, bounded by the room of the fullest layer and by the rotary table. A layer with
/// a window has room for any number.
std::int64_t rowsLeft(const CacheState& state, const PlanRules& rules);

// Pending actions name positions of the context as it was when they were checked. If one of several actions is applied
// alone, the positions in the others follow their tokens. Pure; any thread.

/// Positions in `before` become those of the same tokens in `after`, which lacks none that an action names; an
/// insertion stays before the first token behind it that is still there.
void followTokens(std::vector<Action>& actions, const Column<LedgerId>& before, const Column<LedgerId>& after);

}  // namespace kvlab
