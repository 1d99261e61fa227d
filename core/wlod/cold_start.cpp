// SPDX-License-Identifier: Apache-2.0
#include "core/wlod/cold_start.h"

#include <algorithm>

namespace kvlab {
namespace {

/// First moment of the finer of two levels: `wish` moments before the end, rounded down to a multiple of the coarser
/// level's span.
std::int32_t border(std::int32_t length, std::int32_t wish, int coarse) {
  return std::max(0, length - wish) / spanOf(coarse) * spanOf(coarse);
}

std::int32_t costOf(std::int32_t lod1From, std::int32_t tokensFrom, std::int32_t length) {
  return lod1From / spanOf(2) + (tokensFrom - lod1From) / spanOf(1) + length - tokensFrom;
}

std::vector<TreeNode> tiling(std::int32_t lod1From, std::int32_t tokensFrom, std::int32_t length) {
  std::vector<TreeNode> out;
  for (std::int32_t t = 0; t < lod1From; t += spanOf(2)) out.push_back({2, t});
  for (std::int32_t t = lod1From; t < tokensFrom; t += spanOf(1)) out.push_back({1, t});
  for (std::int32_t t = tokensFrom; t < length; ++t) out.push_back({0, t});
  return out;
}

/// First moments of tokens and of LOD1 in the coarsest tiling.
std::pair<std::int32_t, std::int32_t> coarsest(std::int32_t length, const WorkingRules& rules) {
  const std::int32_t tokensFrom = border(length, rules.protectedTail, 1);
  return {tokensFrom, border(tokensFrom, 0, 2)};
}

}  // namespace

std::int32_t coarsestCost(std::int32_t length, const WorkingRules& rules) {
  const auto [tokensFrom, lod1From] = coarsest(length, rules);
  return costOf(lod1From, tokensFrom, length);
}

Result<WorkingContext> coldStart(std::int32_t length, const ColdStart& wish, const WorkingRules& rules) {
  auto [tokensFrom, lod1From] = coarsest(length, rules);
  if (Status room = WorkingContext::fits(costOf(lod1From, tokensFrom, length), rules); !room) return room.error();
  const auto refine = [&](std::int32_t& from, std::int32_t least, int coarse) {
    while (from > least) {
      from -= spanOf(coarse);
      if (costOf(lod1From, tokensFrom, length) <= rules.budget) continue;
      from += spanOf(coarse);
      return;
    }
  };
  refine(lod1From, border(length, std::max(wish.tokens, rules.protectedTail) + wish.gists, 2), 2);
  refine(tokensFrom, std::max(lod1From, border(length, wish.tokens, 1)), 1);
  return WorkingContext::of(tiling(lod1From, tokensFrom, length));
}

}  // namespace kvlab
