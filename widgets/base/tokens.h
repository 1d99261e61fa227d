// SPDX-License-Identifier: GPL-3.0-or-later
// The tokens of a snapshot as readable texts, and the tokens that actions write. Pure functions; any thread.
#pragma once
#include <QString>
#include <vector>

#include "core/api/action.h"
#include "core/api/snapshot.h"

namespace kvlab {

/// The text of a vocabulary entry with blanks and control characters visible; "#id" if unknown.
QString textOf(const Snapshot& snapshot, TokenId id);
QString textOf(const Snapshot& snapshot, const std::vector<TokenId>& ids);
/// The text at a context position; empty outside the context.
QString textAt(const Snapshot& snapshot, Position position);
/// The text of a ledger row as the model has it, with its blanks; empty if unknown.
QString rawText(const Snapshot& snapshot, LedgerId row);
/// Line ends, tabs and outer blanks made visible.
QString visibleText(const QString& text);
/// "3, 5–8, 12" for ascending or unordered integers.
QString ranges(std::vector<std::int64_t> values);

/// The tokens that an action writes; empty for actions that write none.
std::vector<TokenId> tokensOf(const Action& action);
/// The action with other tokens: one for each token where an action takes but one. Actions that write none stay.
std::vector<Action> withTokens(const Action& action, const std::vector<TokenId>& tokens);

}  // namespace kvlab
