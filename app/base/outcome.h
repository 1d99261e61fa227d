// SPDX-License-Identifier: GPL-3.0-or-later
// The text of a finished command in the status bar: its effect, its file, the reason why it stopped. Pure function; any
// thread.
#pragma once
#include "widgets/base/job_list.h"

namespace kvlab {

/// A KL divergence in nats from which on a next token counts as another than that of a rebuild.
constexpr double kDriftCounts = 0.001;

struct JobOutcome {
  JobState state;
  QString how;  // one line; empty for commands whose effect is in sight
};
JobOutcome endOf(const CommandReply& command);
/// The outcome of work that an error ended. Errors with the code `cancelled` stopped it by hand.
JobOutcome endOf(const Error& error);
/// The error of the tick that ended a run or a list of steps; none if no tick failed.
std::optional<Error> failedTick(const nlohmann::json& reports);

}  // namespace kvlab
