// SPDX-License-Identifier: Apache-2.0
// Says of each row whether a rebuild would compute it equally today, and if not, why. The answer compares the
// fingerprint of what a row was computed from with today's fingerprint, and carries a bit forward through the
// layers. Until it is verified, nobody knows how a row from a file was computed. semantics.md, section 9. Pure;
// engine thread.
#pragma once
#include <vector>

#include "core/state/cache_state.h"

namespace kvlab {

struct ExactnessMap {
  std::vector<std::vector<Exactness>> layers;        // [layers][length] label of a row's K and V
  std::vector<std::vector<std::int32_t>> inherited;  // [layers][length] position of the earliest
                                                     // inexact row it saw, -1 = none
};

/// Extends the state's prefix sums. cachePhases: position mode cache. turn: turnWord() of today's length.
ExactnessMap exactness(CacheState& state, bool cachePhases, std::uint64_t turn);
/// The labels of the last layer alone, [length], in a part of the time.
std::vector<Exactness> lastExactness(CacheState& state, bool cachePhases, std::uint64_t turn);

/// Label of a row, by the fingerprint of its inputs and the fingerprint of the inputs that a pass would use now.
Exactness verdict(const Provenance& then, const Provenance& now);
/// Labels of rows in a layer, [rows]: a row that is otherwise exact becomes Loaded if it came from a file.
std::vector<Exactness> withLoaded(const CacheState& state, CacheLayer layer, std::span<const LedgerId> ids,
                                  std::vector<Exactness> labels);
/// True for a row from a file: the rows that it saw are unknown.
bool whollyLoaded(const CacheState& state, LedgerId id);

/// Notes after a rebuild that every row of the context was computed from today's context.
void refreshProvenance(CacheState& state, bool cachePhases, std::uint64_t turn);

}  // namespace kvlab
