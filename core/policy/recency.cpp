// SPDX-License-Identifier: Apache-2.0
// Policies that use only the position. The newest rows stay, with sinks (StreamingLLM, arXiv 2309.17453, section 3.2;
// position mode cache gives that paper's positions) or without sinks (sliding window).
#include <numeric>

#include "core/policy/policy.h"

namespace kvlab {
namespace {

std::vector<float> ageScores(const PolicySpec&, const LayerRows& rows) {
  std::vector<float> out(rows.rows());
  std::iota(out.begin(), out.end(), 0.0f);
  return out;
}

}  // namespace

Policy makeStreamingLlm() { return {kNoStatistic, ageScores}; }
Policy makeSlidingWindow() { return {kNoStatistic, ageScores}; }

}  // namespace kvlab
