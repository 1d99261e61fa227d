// SPDX-License-Identifier: Apache-2.0
// The upper bound for policies: a row scores by the attention that future queries will pay it. A run over the same
// tokens that kept every row knows this attention (core/analysis/lifespans.h, or a sweep's reference).
#include "core/policy/policy.h"

namespace kvlab {
namespace {

std::vector<float> futureScores(const PolicySpec&, const LayerRows& rows) {
  return {rows.future.begin(), rows.future.end()};
}

}  // namespace

Policy makeOracle() { return {kFuture, futureScores}; }

}  // namespace kvlab
