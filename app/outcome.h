// SPDX-License-Identifier: GPL-3.0-or-later
// What a finished command says in the status bar: what it did, where it saved, why it stopped. Pure function; any
// thread.
#pragma once
#include "widgets/base/inspector_context.h"

namespace kvlab {

/// One line; empty for commands whose effect is in sight, and for errors, which the banner shows.
QString outcomeOf(const CommandReply& command);
/// The error of the tick that ended a run or a list of steps; none if no tick failed.
std::optional<Error> failedTick(const nlohmann::json& reports);

}  // namespace kvlab
