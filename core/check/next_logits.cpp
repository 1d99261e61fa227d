// SPDX-License-Identifier: Apache-2.0
// The last forward pass has left the logits of the next token: one finite number per vocabulary entry,
// unless the context is empty or the logits are marked stale.
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/check/checks.h"
#include "core/check/findings.h"

namespace kvlab {

void checkNextLogits(const CheckInput& input, std::vector<Violation>& out) {
  Findings findings("next_logits", out);
  const CacheState& state = input.state;
  if (!state.logits) {
    if (!state.context.empty() && !state.logitsStale)
      findings.add({}, "there are no logits of the next token and none are due");
    return;
  }
  const std::vector<float>& logits = *state.logits;
  if (input.vocab > 0 && logits.size() != static_cast<std::size_t>(input.vocab))
    findings.add(
        {},
        "there are " + std::to_string(logits.size()) + " logits, the vocabulary has " + std::to_string(input.vocab));
  // A whole vocabulary: no branch for each.
  const auto wrong = std::ranges::count_if(
      logits, [](float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) == 0x7f800000u; });
  for (std::size_t i = 0; wrong > 0 && i < logits.size(); ++i)
    if (!std::isfinite(logits[i]))
      findings.add({}, "the logit of token " + std::to_string(i) + " is " + std::to_string(logits[i]));
}

}  // namespace kvlab
