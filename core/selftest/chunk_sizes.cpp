// SPDX-License-Identifier: Apache-2.0
// The bits of a row do not depend on the rows that are computed beside it.
#include "core/selftest/self_test_room.h"

namespace kvlab {

Result<SelfTestFigure> chunk_sizesSelfTest(SelfTestRoom& room) {
  SelfTestFigure out{0, 0, "of the spread of logits", "equal"};
  for (const int chunk : {1, 63, 64, 65, 511}) {
    KV_TRY(room.tell("chunk_sizes"));
    const std::vector<std::int32_t> ids = room.ids(chunk < 100 ? 130 : 600);
    std::vector<float> logits[2];
    for (const int own : {0, 1}) {
      std::unique_ptr<Session> session = KV_TRY(room.prompted(ids, {{"prefill_chunk", own ? chunk : 512}}));
      KV_TRY(stepIds(*session, std::span(ids).first(1)));
      logits[own] = logitsOf(*session);
    }
    const double apart = logitsApart(logits[1], logits[0]);
    if (!(apart <= out.figure)) out.figure = apart, out.says = "worst in chunks of " + std::to_string(chunk);
  }
  return out;
}

}  // namespace kvlab
