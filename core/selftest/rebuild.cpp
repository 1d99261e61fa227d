// SPDX-License-Identifier: Apache-2.0
#include "core/selftest/self_test_room.h"
#include "core/verbs/verbs.h"

namespace kvlab {

Result<SelfTestFigure> rebuildSelfTest(SelfTestRoom& room) {
  const std::vector<std::int32_t> ids = room.ids(40);
  std::unique_ptr<Session> edited = KV_TRY(room.prompted(ids, {{"capacity", 128}}));
  const nlohmann::json actions = {{{"action", "delete"}, {"position", 7}},
                                  {{"action", "insert"}, {"position", 20}, {"token_ids", {ids[2], ids[3]}}}};
  KV_TRY(execute(*edited, "inject", {{"actions", actions}, {"now", true}}));
  const CacheState& state = edited->state();
  std::vector<std::int32_t> text;
  for (std::size_t i = 0; i < state.context.size(); ++i) text.push_back(state.ledger[state.context[i]].token.value());
  KV_TRY(execute(*edited, "rebuild", nlohmann::json::object()));
  std::unique_ptr<Session> fresh = KV_TRY(room.prompted(text, {{"capacity", 128}}));
  for (Session* session : {edited.get(), fresh.get()}) KV_TRY(stepIds(*session, std::span(ids).first(2)));
  const double apart = logitsApart(logitsOf(*edited), logitsOf(*fresh));
  return SelfTestFigure{apart, room.rounds() ? 0.1 : 0, "of the spread of logits",
                        "against a fresh prompt of the edited text"};
}

}  // namespace kvlab
