// SPDX-License-Identifier: Apache-2.0
// A fork that changes or adds rows leaves its origin as it was.
#include "core/selftest/self_test_room.h"
#include "core/session/state_hash.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

std::string hashOf(Session& session) { return stateHash(session.state(), session.parts().store, {}); }

}  // namespace

Result<SelfTestFigure> forkSelfTest(SelfTestRoom& room) {
  const std::vector<std::int32_t> ids = room.ids(44);
  const std::span all(ids);
  std::unique_ptr<Session> session = KV_TRY(room.prompted(all.first(40), {{"capacity", 128}}));
  std::unique_ptr<Session> alone = KV_TRY(room.prompted(all.first(40), {{"capacity", 128}}));
  const std::string before = hashOf(*session);
  std::unique_ptr<Session> fork = KV_TRY(session->fork());
  const nlohmann::json actions = {{{"action", "delete"}, {"position", 5}}};
  KV_TRY(execute(*fork, "inject", {{"actions", actions}, {"now", true}}));
  KV_TRY(stepIds(*fork, all.first(6)));
  KV_TRY(execute(*fork, "rebuild", nlohmann::json::object()));  // overwrites the rows that both have
  if (hashOf(*session) != before) return SelfTestFigure{1, 0, "changes", "what the fork did changed its origin"};
  KV_TRY(stepIds(*session, all.subspan(40)));
  KV_TRY(stepIds(*alone, all.subspan(40)));
  const double apart = logitsApart(logitsOf(*session), logitsOf(*alone));
  return SelfTestFigure{apart, 0, "of the spread of logits",
                        apart == 0 ? "the origin goes on as a session that was never forked"
                                   : "the origin goes on in another way than a session that was never forked"};
}

}  // namespace kvlab
