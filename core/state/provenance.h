// SPDX-License-Identifier: Apache-2.0
// The rows that a row was computed from, as three sums of mixed words. Equal sums mean equal sets (up to a 64-bit
// collision), and the sum of a range is a difference of prefix sums. semantics.md, section 9. Pure; any thread.
#pragma once
#include <algorithm>

#include "core/state/cache_state.h"
#include "kernels/ops/attention.h"
#include "kernels/row_checksum.h"

namespace kvlab {

inline std::uint64_t idWord(LedgerId id) {
  return kernels::mix64(0x51ed270b9d1bca8dull + static_cast<std::uint64_t>(id.value()));
}
inline std::uint64_t phasedWord(LedgerId id, std::int32_t phase) {
  return kernels::mix64(idWord(id) ^ (0x2545f4914f6cdd1dull * static_cast<std::uint64_t>(phase + 1)));
}

/// Word of the first map index that a row attended to: attention adds up in blocks of indices, so that the same rows at
/// other indices give other bits.
inline std::uint64_t borderWord(std::int32_t begin) {
  const auto within = static_cast<std::uint64_t>(begin % kernels::kAttentionBlock);
  return within == 0 ? 0 : kernels::mix64(0x7fb5d329728ea185ull + within);
}

/// Extends a column of prefix sums (value i = sum of the first i words) to n + 1 values.
template <class Word>
void extendSums(Column<std::uint64_t>& sums, std::size_t n, Word word) {
  if (sums.empty()) sums.push_back(0);
  const std::size_t begin = sums.size() - 1;
  if (begin >= n) return;
  std::uint64_t sum = sums[begin];
  std::vector<std::uint64_t> more(n - begin);
  for (std::size_t i = begin; i < n; ++i) more[i - begin] = sum += word(i);
  sums.append(more);
}

inline void extendSums(const ResidencyView& map, Column<std::uint64_t>& ids, Column<std::uint64_t>& phased) {
  extendSums(ids, map.size(), [&](std::size_t i) { return idWord(map.ledger[i]); });
  extendSums(phased, map.size(), [&](std::size_t i) { return phasedWord(map.ledger[i], map.phases[i]); });
}

inline void extendContextSums(CacheState& state) {
  extendSums(state.contextSums, state.context.size(), [&](std::size_t i) { return idWord(state.context[i]); });
}

/// All prefix sums of the state, so that the passes after this one begin where it ends.
inline void extendSums(CacheState& state) {
  extendContextSums(state);
  for (LayerGroup& group : state.groups) extendSums(*group.map, group.idSums, group.phasedSums);
}

/// A copy to keep. Passes make its sums again.
inline CacheState withoutSums(const CacheState& state) {
  CacheState out = state;
  out.contextSums = {};
  for (LayerGroup& group : out.groups) group.idSums = group.phasedSums = {};
  return out;
}

/// First index of the map that a query at `phase` attends to through a sliding window (0 = all). A query attends to
/// `window` phases, including its own, as in Mistral's mask.
inline std::int32_t windowBegin(const ResidencyView& map, std::int32_t phase, int window) {
  if (window <= 0) return 0;
  const auto first = std::upper_bound(map.phases.begin(), map.phases.end(), phase - window);
  return static_cast<std::int32_t>(first - map.phases.begin());
}

}  // namespace kvlab
