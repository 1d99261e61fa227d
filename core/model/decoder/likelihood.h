// SPDX-License-Identifier: Apache-2.0
// The likelihood of a token under logits. Pure functions; any thread.
#pragma once
#include <span>

#include "core/api/ids.h"

namespace kvlab {

/// ln of the sum of the exponentials; x is not empty.
double logSumExp(std::span<const float> x);

/// -ln softmax(logits)[token], nats; not-a-number for a token outside of the logits.
double negativeLogLikelihood(std::span<const float> logits, TokenId token);

}  // namespace kvlab
