// SPDX-License-Identifier: Apache-2.0
#include "core/selftest/self_test_room.h"
#include "core/verbs/verbs.h"

namespace kvlab {

Result<SelfTestFigure> tail_editSelfTest(SelfTestRoom& room) {
  std::vector<std::int32_t> ids = room.ids(40);
  std::unique_ptr<Session> edited = KV_TRY(room.prompted(ids, {{"capacity", 128}}));
  KV_TRY(execute(*edited, "inject", {{"actions", {{{"action", "delete"}, {"position", 39}}}}, {"now", true}}));
  ids.back() = ids.front() == ids.back() ? ids[1] : ids.front();
  KV_TRY(readIds(*edited, std::span(ids).last(1)));
  std::unique_ptr<Session> fresh = KV_TRY(room.prompted(ids, {{"capacity", 128}}));
  const double apart = logitsApart(logitsOf(*edited), logitsOf(*fresh));
  return SelfTestFigure{apart, 0, "of the spread of logits",
                        apart == 0 ? "equal to a fresh prompt" : "not what a fresh prompt gives"};
}

}  // namespace kvlab
