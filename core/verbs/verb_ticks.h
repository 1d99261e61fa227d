// SPDX-License-Identifier: Apache-2.0
// What verbs that make ticks or queue actions share. Engine thread.
#pragma once
#include "core/session/requests.h"
#include "core/session/session.h"
#include "core/session/ticks.h"
#include "core/verbs/verb_args.h"

namespace kvlab {

/// A single report; a failed one becomes the error, as a script expects it.
inline Result<nlohmann::json> single(const TickReport& report) {
  if (!report.ok && report.error) return *report.error;
  return toJson(report);
}

/// Queues an action as inject does, or applies it with all that is pending. `args` are the verb's: done again, it waits
/// among the pending ones already.
inline Result<nlohmann::json> queued(Session& session, Action action, bool now, const nlohmann::json& args) {
  if (args.contains("pending")) return single(apply(session));
  if (Status taken = inject(session, {std::move(action)}); !taken) return taken.error();
  if (now) return single(apply(session));
  return nlohmann::json{{"pending", session.pending().size()}};
}

}  // namespace kvlab
