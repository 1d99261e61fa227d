// SPDX-License-Identifier: Apache-2.0
// Input of the first layer for a row, made anew: the embedding of its token; for a gist of means the mean of the
// embeddings under it; for another gist the one that the tree has. Engine thread.
#pragma once
#include "core/check/invariant.h"
#include "core/check/scalar_decoder.h"

namespace kvlab {

/// [hidden]
std::vector<double> gistOf(const CheckInput& input, const ScalarDecoder& decoder, TreeNode node);
/// [hidden]
std::vector<double> embeddingOf(const CheckInput& input, const ScalarDecoder& decoder, LedgerId id);

}  // namespace kvlab
