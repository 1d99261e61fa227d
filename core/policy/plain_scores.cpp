// SPDX-License-Identifier: Apache-2.0
// Policies that need no arithmetic: the score of a row is its place, a random number, or a figure that is there
// already.
#include <numeric>

#include "core/model/counter_random.h"
#include "core/policy/policy.h"

namespace kvlab {
namespace {

/// An independent uniform score per (cache layer, KV head, row), which stays the same while the row lives.
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

/// Policies that use only the position. The newest rows stay, with sinks (StreamingLLM, arXiv 2309.17453, section 3.2;
/// position mode cache gives that paper's positions) or without sinks (sliding window).
std::vector<float> ageScores(const PolicySpec&, const LayerRows& rows) {
  std::vector<float> out(rows.rows());
  std::iota(out.begin(), out.end(), 0.0f);
  return out;
}

}  // namespace

Policy makeFull() { return {}; }

Policy makeRandom() { return {kNoStatistic, randomScores}; }

Policy makeStreamingLlm() { return {kNoStatistic, ageScores}; }
Policy makeSlidingWindow() { return {kNoStatistic, ageScores}; }

// Brightness as an eviction score: a token has one brightness for all layers. semantics.md, section 4.
Policy makeBrightness() { return {kBrightness, asListed<&LayerRows::brightness>}; }

// SmartKV: the gate of a layer scores a row's key when the key is projected; the score never changes. A row that leaves
// the window therefore competes once, with the rows inside the budget. semantics.md, section 6.
Policy makeSmartKv() { return {kGates, asListed<&LayerRows::gates>}; }

// An upper bound for policies: a row's score is the attention that future queries pay to it. A recorded run over the
// same tokens with every row resident provides this attention (core/analysis/lifespans.h, or a sweep's reference).
Policy makeOracle() { return {kFuture, asListed<&LayerRows::future>}; }

}  // namespace kvlab
