// SPDX-License-Identifier: Apache-2.0
// An independent uniform score per (layer, KV head, row), constant as long as the row lives.
#include "core/model/counter_random.h"
#include "core/policy/policy.h"

namespace kvlab {
namespace {

std::vector<float> randomScores(const PolicySpec& spec, const LayerRows& rows) {
  std::vector<float> out;
  for (int head = 0; head < rows.kvHeads; ++head) {
    const std::uint64_t stream =
        randomBits(spec.seed, static_cast<std::uint64_t>(rows.layer) << 32 | static_cast<std::uint32_t>(head));
    for (LedgerId id : rows.ledger)
      out.push_back(static_cast<float>(unitInterval(randomBits(stream, static_cast<std::uint64_t>(id.value())))));
  }
  return out;
}

}  // namespace

Policy makeRandom() { return {kNoStatistic, randomScores}; }

}  // namespace kvlab
