// SPDX-License-Identifier: Apache-2.0
// Pending actions name positions of the context as it was when they were checked. If one of several actions is applied
// alone, the positions in the others follow their tokens. Pure; any thread.
#pragma once
#include "core/api/action.h"
#include "core/state/cache_state.h"

namespace kvlab {

/// Positions in `before` become those of the same tokens in `after`, which lacks none that an action names; an
/// insertion stays before the first token behind it that is still there.
void followTokens(std::vector<Action>& actions, const Column<LedgerId>& before, const Column<LedgerId>& after);

}  // namespace kvlab
