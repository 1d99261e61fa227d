// SPDX-License-Identifier: Apache-2.0
// A prompt, an edit and steps in every layout that does not forget; rings have a test of their own.
#include "core/selftest/self_test_room.h"
#include "core/verbs/verbs.h"

namespace kvlab {

Result<SelfTestFigure> layoutsSelfTest(SelfTestRoom& room) {
  const std::vector<std::int32_t> ids = room.ids(44);
  std::vector<float> first;
  SelfTestFigure out{0, 0, "of the spread of logits", {}};
  int compared = 0;
  for (const char* layout : {"indirection", "contiguous_splice", "batch_splice", "boolean_gather", "paged"}) {
    KV_TRY(room.tell("layouts"));
    std::unique_ptr<Session> session =
        KV_TRY(room.prompted(std::span(ids).first(40), {{"layout", layout}, {"capacity", 128}}));
    const nlohmann::json actions = {{{"action", "delete"}, {"position", 5}},
                                    {{"action", "insert"}, {"position", 9}, {"token_ids", {ids[3]}}}};
    KV_TRY(execute(*session, "inject", {{"actions", actions}, {"now", true}}));
    KV_TRY(stepIds(*session, std::span(ids).subspan(40)));
    const std::vector<float> logits = logitsOf(*session);
    if (compared++ == 0) first = logits;
    const double apart = logitsApart(logits, first);
    if (!(apart <= out.figure)) out.figure = apart, out.says = "worst in " + std::string(layout);
  }
  if (out.says.empty()) out.says = std::to_string(compared) + " layouts are equal";
  return out;
}

}  // namespace kvlab
