// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/cold_start.h"

#include <algorithm>

namespace kvlab {
namespace {

/// First moment of the finer of two levels: `wish` moments before the end, rounded down to a multiple of the coarser
/// level's span.
std::int32_t border(std::int32_t length, std::int32_t wish, int coarse) {
  return std::max(0, length - wish) / spanOf(coarse) * spanOf(coarse);
}

/// A tiling with LOD2 up to `lod1From`, LOD1 up to `tokensFrom`, then tokens; blocks with pinned tokens are finer.
std::vector<TreeNode> tiling(std::int32_t lod1From, std::int32_t tokensFrom, std::int32_t length,
                             const WorkingRules& rules) {
  std::vector<TreeNode> out;
  for (std::int32_t t = 0; t < length; t = out.back().end()) {
    int level = t < lod1From ? 2 : t < tokensFrom ? 1 : 0;
    while (level > 0 && (t % spanOf(level) || rules.pinnedIn({t, t + spanOf(level)}))) --level;
    out.push_back({level, t});
  }
  return out;
}

std::int32_t costOf(std::int32_t lod1From, std::int32_t tokensFrom, std::int32_t length, const WorkingRules& rules) {
  if (!rules.pinned.empty()) return static_cast<std::int32_t>(tiling(lod1From, tokensFrom, length, rules).size());
  return lod1From / spanOf(2) + (tokensFrom - lod1From) / spanOf(1) + length - tokensFrom;
}

/// First moments of tokens and of LOD1 in the coarsest tiling.
std::pair<std::int32_t, std::int32_t> coarsest(std::int32_t length, const WorkingRules& rules) {
  const std::int32_t tokensFrom = border(length, rules.protectedTail, 1);
  return {tokensFrom, border(tokensFrom, 0, 2)};
}

}  // namespace

std::int32_t coarsestCost(std::int32_t length, const WorkingRules& rules) {
  const auto [tokensFrom, lod1From] = coarsest(length, rules);
  return costOf(lod1From, tokensFrom, length, rules);
}

Result<WorkingContext> coldStart(std::int32_t length, const ColdStart& wish, const WorkingRules& rules) {
  auto [tokensFrom, lod1From] = coarsest(length, rules);
  if (Status room = WorkingContext::fits(costOf(lod1From, tokensFrom, length, rules), rules); !room)
    return room.error();
  const auto refine = [&](std::int32_t& from, std::int32_t least, int coarse) {
    while (from > least) {
      from -= spanOf(coarse);
      if (costOf(lod1From, tokensFrom, length, rules) <= rules.budget) continue;
      from += spanOf(coarse);
      return;
    }
  };
  refine(lod1From, border(length, std::max(wish.tokens, rules.protectedTail) + wish.gists, 2), 2);
  refine(tokensFrom, std::max(lod1From, border(length, wish.tokens, 1)), 1);
  return WorkingContext::of(tiling(lod1From, tokensFrom, length, rules));
}

}  // namespace kvlab
