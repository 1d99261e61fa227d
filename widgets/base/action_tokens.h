// SPDX-License-Identifier: GPL-3.0-or-later
// The tokens that actions write. Pure functions; any thread.
#pragma once
#include <vector>

#include "core/api/action.h"

namespace kvlab {

/// The tokens that an action writes; empty for actions that write none.
std::vector<TokenId> tokensOf(const Action& action);
/// The action with other tokens: one for each token where an action takes but one. Actions that write none stay.
std::vector<Action> withTokens(const Action& action, const std::vector<TokenId>& tokens);

}  // namespace kvlab
