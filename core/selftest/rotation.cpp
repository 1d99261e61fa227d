// SPDX-License-Identifier: Apache-2.0
// Scores of attention depend on the difference of two phases alone (Su et al. 2021, arXiv:2104.09864, section 3.2.2).
#include <algorithm>

#include "core/selftest/dense_run.h"
#include "core/selftest/self_test_room.h"

namespace kvlab {

Result<SelfTestFigure> rotationSelfTest(SelfTestRoom& room) {
  const ModelConfig& config = room.config();
  if (!room.backend().onHost()) return skippedTest("the test computes on the CPU: give --backend cpu");
  if (std::ranges::any_of(config.ropes, [](const Rope& rope) { return rope.followsLength() || rope.queryBeta != 0; }))
    return skippedTest("the rotation of the model follows the length of the context");
  const std::vector<std::int32_t> ids = room.ids(48);
  const auto length = static_cast<std::int32_t>(ids.size());
  std::vector<float> first;
  SelfTestFigure out{0, room.rounds() ? 0.1 : 1e-3, "of the spread of logits", {}};
  for (const std::int32_t begin : {0, 1, 37, std::min(4096, config.maxPositions) - length}) {
    KV_TRY(room.tell("rotation"));
    if (begin < 0 || begin + length > config.maxPositions) continue;
    DenseRun run = KV_TRY(DenseRun::create(room.weights(), room.backend(), ids, begin));
    run.run();
    const std::vector<float> logits = KV_TRY(run.logits());
    if (begin == 0) first = logits;
    const double apart = logitsApart(logits, first);
    if (!(apart <= out.figure)) out.figure = apart, out.says = "worst at phase " + std::to_string(begin);
  }
  if (out.says.empty()) out.says = "equal";
  return out;
}

}  // namespace kvlab
