// SPDX-License-Identifier: Apache-2.0
// Pairs the rows of one state with the rows of another. As far as both ledgers agree, a row is paired with itself.
// Beyond that, after branches, lanes or files diverged, the tokens of both contexts are aligned, and aligned tokens
// count as one row. Pure; any thread.
#pragma once
#include <utility>
#include <vector>

#include "core/state/cache_state.h"

namespace kvlab {

class RowPairs {
 public:
  RowPairs(const CacheState& then, const CacheState& now);

  /// The row of `now` that a row of `then` is; -1 = none.
  LedgerId nowOf(LedgerId then) const;

 private:
  std::int32_t m_shared = 0;      // rows with ids below this are themselves in both states
  std::vector<LedgerId> m_later;  // [ledger rows of `then` from m_shared on]
};

using Places = std::vector<std::pair<std::size_t, std::size_t>>;

/// Places of equal entries, both ascending: a longest common subsequence of two lists. Myers, "An O(ND) Difference
/// Algorithm and Its Variations", 1986, section 2. If the lists need more than `most` insertions and deletions, only
/// their equal beginning and end are aligned.
Places alignedPlaces(const std::vector<std::int64_t>& then, const std::vector<std::int64_t>& now, int most = 2000);

}  // namespace kvlab
