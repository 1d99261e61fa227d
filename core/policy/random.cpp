// SPDX-License-Identifier: Apache-2.0
// An independent uniform score per (cache layer, KV head, row), which stays the same while the row lives.
#include "core/model/counter_random.h"
#include "core/policy/policy.h"

namespace kvlab {
namespace {

std::vector<float> randomScores(const PolicySpec& spec, const LayerRows& rows) {
  std::vector<float> out;
  for (int head = 0; head < rows.kvHeads; ++head) {
    const std::uint64_t stream =
        randomBits(spec.seed, static_cast<std::uint64_t>(rows.layer.value()) << 32 | static_cast<std::uint32_t>(head));
    for (LedgerId id : rows.ledger)
      out.push_back(static_cast<float>(unitInterval(randomBits(stream, static_cast<std::uint64_t>(id.value())))));
  }
  return out;
}

}  // namespace

Policy makeRandom() { return {kNoStatistic, randomScores}; }

}  // namespace kvlab
