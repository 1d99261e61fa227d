// SPDX-License-Identifier: Apache-2.0
#include "core/check/row_embedding.h"

namespace kvlab {

std::vector<double> embeddingOf(const CheckInput& input, const ScalarDecoder& decoder, LedgerId id) {
  const CacheState& state = input.state;
  const auto embed = [&](TokenId token) { return decoder.embed(token); };
  if (std::optional<std::vector<double>> own = state.kind->inputOf(state, id, embed)) return std::move(*own);
  return decoder.embed(state.ledger[id].token);
}

}  // namespace kvlab
