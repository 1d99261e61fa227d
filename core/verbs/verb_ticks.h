// SPDX-License-Identifier: Apache-2.0
// Helpers of verbs that make ticks or queue actions. Engine thread.
#pragma once
#include "core/session/requests.h"
#include "core/verbs/verb_args.h"

namespace kvlab {

/// The reply for one report. A failed report becomes an error.
inline Result<nlohmann::json> single(const TickReport& report) {
  if (!report.ok && report.error) return *report.error;
  return toJson(report);
}

/// The report of a tick, with the stage where it stands open or null.
nlohmann::json withStage(const Session& session, const TickReport& report);

/// Appends a prompt and replies with its report. Where policies choose rows at its end and a breakpoint names a stage,
/// the end is a command and a tick of its own, which may stay open: the reply then has `stage` and `stoppedBy`.
Result<nlohmann::json> prompted(Session& session, const std::vector<TokenId>& tokens);

/// Queues actions, with `instead` in place of the pending ones. With `now` also applies all pending actions, and the
/// reply's `queued` counts the new ones; on error the pending list is as it was. If history executes the verb again,
/// its actions are already pending.
Result<nlohmann::json> queued(Session& session, std::vector<Action> actions, const VerbArgs& in);

/// The request of the verb step: `ticks` ticks, with or without blocks of given tokens.
struct StepRequest {
  StepRequest(const Session& session, VerbArgs& in);
  /// Tokens of the i-th tick.
  std::vector<TokenId> block(std::int64_t i) const;

  std::vector<TokenId> tokens;
  std::size_t perBlock;
  std::int64_t ticks;
};

/// The arguments that queued() reads.
inline ArgInfo nowArg() { return arg::flag("now", false); }
inline ArgInfo insteadArg() { return arg::flag("instead", false); }
/// `instead`, where the verb has it.
Queue queueOf(const VerbArgs& in);

}  // namespace kvlab
