// SPDX-License-Identifier: Apache-2.0
// An upper bound for policies: a row's score is the attention that future queries pay to it. A recorded run over the
// same tokens with every row resident provides this attention (core/analysis/lifespans.h, or a sweep's reference).
#include "core/policy/policy.h"

namespace kvlab {
namespace {

std::vector<float> futureScores(const PolicySpec&, const LayerRows& rows) {
  return {rows.future.begin(), rows.future.end()};
}

}  // namespace

Policy makeOracle() { return {kFuture, futureScores}; }

}  // namespace kvlab
