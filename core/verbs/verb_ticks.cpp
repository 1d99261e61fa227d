// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/verb_ticks.h"

#include "core/session/requests.h"
#include "core/session/ticks.h"

namespace kvlab {
namespace {

/// The list as it was before actions were queued whose tick then failed.
void takeBack(Session& session, std::vector<Action> before) {
  if (session.pending().size() <= before.size()) return;
  session.setPending(std::move(before));
  session.publish();
}

}  // namespace

Result<nlohmann::json> queued(Session& session, std::vector<Action> actions, const VerbArgs& in) {
  const std::size_t count = actions.size();
  std::vector<Action> before = session.pending();
  if (!in.all().contains("pending"))
    if (Status taken = inject(session, actions); !taken) return taken.error();
  if (!in.flag("now")) return nlohmann::json{{"pending", session.pending().size()}};
  const TickReport report = apply(session);
  if (!report.ok) takeBack(session, std::move(before));
  Result<nlohmann::json> reply = single(report);
  if (reply) (*reply)["queued"] = count;
  return reply;
}

}  // namespace kvlab
