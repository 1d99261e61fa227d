// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/likelihood.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvlab {

double logSumExp(std::span<const float> x) {
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const float value : x) sum += std::exp(value - top);
  return top + std::log(sum);
}

double negativeLogLikelihood(std::span<const float> logits, TokenId token) {
  if (token.value() < 0 || at(token) >= logits.size()) return std::numeric_limits<double>::quiet_NaN();
  return logSumExp(logits) - logits[at(token)];
}

}  // namespace kvlab
