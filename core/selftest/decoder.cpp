// SPDX-License-Identifier: Apache-2.0
// A session at check level full compares every row and the logits with core/check/scalar_decoder.h.
#include "core/selftest/self_test_room.h"

namespace kvlab {

Result<SelfTestFigure> decoderSelfTest(SelfTestRoom& room) {
  constexpr std::size_t kPrompt = 60, kSteps = 6;  // across a multiple of 64 rows
  const std::vector<std::int32_t> ids = room.ids(kPrompt + kSteps);
  std::unique_ptr<Session> session =
      KV_TRY(room.prompted(std::span(ids).first(kPrompt), {{"check", {{"level", "full"}}}}));
  const std::vector<Finding>& findings = session->health().alignment.findings();  // findings of the last check
  for (std::size_t i = kPrompt; i < ids.size() && findings.empty(); ++i)
    KV_TRY(stepIds(*session, std::span(ids).subspan(i, 1)));
  if (!session->parts().backend->onHost())
    return skippedTest("passes of several rows on a device do not keep what layers give");
  SelfTestFigure out{static_cast<double>(findings.size()), 0, "findings",
                     std::to_string(ids.size()) + " tokens, every row, layer output and logits"};
  if (!findings.empty()) out.says = findings.front().violation.invariant + ": " + findings.front().violation.detail;
  return out;
}

}  // namespace kvlab
