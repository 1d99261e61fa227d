// SPDX-License-Identifier: Apache-2.0
#include "core/check/row_embedding.h"

#include <algorithm>

namespace kvlab {

std::vector<double> gistOf(const CheckInput& input, const ScalarDecoder& decoder, TreeNode node) {
  const MegaContext& tree = input.state.wlod->tree;
  if (!input.manifest.wlod || input.manifest.wlod->gist != "mean") {
    const std::span<const float> gist = tree.gist(node);
    return {gist.begin(), gist.end()};
  }
  std::vector<double> out;
  for (std::int32_t t = node.start; t < node.end(); ++t) {
    const std::vector<double> token = decoder.embed(input.state.ledger[tree.token(Moment(t))].token);
    out.resize(token.size());
    std::ranges::transform(out, token, out.begin(), [&](double sum, double x) { return sum + x / node.span(); });
  }
  return out;
}

std::vector<double> embeddingOf(const CheckInput& input, const ScalarDecoder& decoder, LedgerId id) {
  const CacheState& state = input.state;
  if (state.wlod && state.ledger[id].kind == RowKind::Gist)
    for (std::size_t row = state.wlod->ledger.size(); row-- > 0;)
      if (state.wlod->ledger[row] == id) return gistOf(input, decoder, state.wlod->rows[row].node);
  return decoder.embed(state.ledger[id].token);
}

}  // namespace kvlab
