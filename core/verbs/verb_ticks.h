// SPDX-License-Identifier: Apache-2.0
// What verbs that make ticks or queue actions share. Engine thread.
#pragma once
#include "core/session/session.h"
#include "core/verbs/verb_args.h"

namespace kvlab {

/// A single report; a failed one becomes the error, as a script expects it.
inline Result<nlohmann::json> single(const TickReport& report) {
  if (!report.ok && report.error) return *report.error;
  return toJson(report);
}

/// Queues actions, and with `now` applies them with all that is pending: then the report says in `queued` how many they
/// were. Nothing is queued where that fails. A verb that history executes again finds its actions among the pending
/// ones.
Result<nlohmann::json> queued(Session& session, std::vector<Action> actions, const VerbArgs& in);

/// What the verb step is asked for: `ticks` ticks, with blocks of given tokens or with none.
struct StepRequest {
  StepRequest(const Session& session, VerbArgs& in);
  /// Of the i-th tick.
  std::vector<TokenId> block(std::int64_t i) const;

  std::vector<TokenId> tokens;
  std::size_t perBlock;
  std::int64_t ticks;
};

/// The argument that queued() reads.
inline ArgInfo nowArg() { return arg::flag("now", false); }

}  // namespace kvlab
