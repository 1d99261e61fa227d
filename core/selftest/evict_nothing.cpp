// SPDX-License-Identifier: Apache-2.0
// Every policy that needs no file, with a capacity that the text does not reach.
#include "core/api/policy_spec.h"
#include "core/selftest/self_test_room.h"

namespace kvlab {

Result<SelfTestFigure> evict_nothingSelfTest(SelfTestRoom& room) {
  const std::vector<std::int32_t> ids = room.ids(44);
  std::vector<float> first;
  SelfTestFigure out{0, 0, "of the spread of logits", {}};
  int compared = 0;
  for (const PolicyName& policy : policies()) {
    KV_TRY(room.tell("evict_nothing"));
    const bool full = policy.name == "full";
    nlohmann::json chosen = {{"name", policy.name}};
    if (!full) chosen["capacity"] = 100;
    Result<std::unique_ptr<Session>> session = room.session({{"policy", chosen}, {"capacity", 128}});
    if (!session) continue;  // it needs a file, or another figure than a capacity
    KV_TRY(readIds(**session, std::span(ids).first(40)));
    KV_TRY(stepIds(**session, std::span(ids).subspan(40)));
    const std::vector<float> logits = logitsOf(**session);
    if (compared++ == 0) first = logits;
    const double apart = logitsApart(logits, first);
    if (!(apart <= out.figure)) out.figure = apart, out.says = "worst with " + std::string(policy.name);
  }
  if (out.says.empty()) out.says = std::to_string(compared) + " policies are equal";
  return out;
}

}  // namespace kvlab
