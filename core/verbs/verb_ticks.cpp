// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/verb_ticks.h"
#include "core/session/requests.h"
#include "core/session/ticks.h"

namespace kvlab {
namespace {

/// The list as it was before actions were queued whose tick then failed. A broken session takes no list: its own stays.
void takeBack(Session& session, std::vector<Action> before) {
  if (session.health().status == SessionState::Broken || session.pending().size() <= before.size()) return;
  clearPending(session);
  if (!before.empty()) (void)inject(session, std::move(before));
}

}  // namespace

Result<nlohmann::json> queued(Session& session, std::vector<Action> actions, const VerbArgs& in) {
  const std::size_t count = actions.size();
  std::vector<Action> before = session.pending();
  if (!in.all().contains("pending"))
    if (Status taken = inject(session, std::move(actions)); !taken) return taken.error();
  if (!in.flag("now")) return nlohmann::json{{"pending", session.pending().size()}};
  const TickReport report = apply(session);
  if (!report.ok) takeBack(session, std::move(before));
  Result<nlohmann::json> reply = single(report);
  if (reply) (*reply)["queued"] = count;
  return reply;
}

}  // namespace kvlab
