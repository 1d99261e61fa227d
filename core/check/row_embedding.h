// SPDX-License-Identifier: Apache-2.0
// Input of the first layer for a row, made again: the embedding of its token, or the input that the kind of session
// gives for a row without a token. Engine thread.
#pragma once
#include "core/check/invariant.h"
#include "core/check/scalar_decoder.h"

namespace kvlab {

/// [hidden]
std::vector<double> embeddingOf(const CheckInput& input, const ScalarDecoder& decoder, LedgerId id);

}  // namespace kvlab
