// SPDX-License-Identifier: Apache-2.0
// The queries of a forward pass in the layers of one group: the phase that each query is rotated to and the range of
// map rows that it attends to. Masks depend only on phases and residency, so groupPass() is pure. Gate scores of the
// rows are kept here, too. Engine thread.
#pragma once
#include <span>
#include <vector>

#include "core/state/cache_state.h"

namespace kvlab {

/// A row to compute, with its place in the context.
struct RowTarget {
  LedgerId id;
  TokenId token;
  std::int32_t position = 0;
  std::int32_t phase = 0;  // for layers whose map lacks the row
};

struct GroupPass {
  std::vector<std::int32_t> phase, rowBegin, rowEnd;  // [rows]; rowEnd includes the row itself if it is resident
  std::vector<bool> resident;                         // [rows]
  bool allResident = true;
};

/// Says whether rows that left only through the window count. A pass over live rows cannot read them; a rebuild
/// computes them again.
enum class LeftRows : std::uint8_t { Gone, Present };

/// `rows` ascend by position. cachePhases: a row that the map lacks has the number of preceding rows as its phase.
GroupPass groupPass(const Column<LedgerId>& context, const LayerGroup& group, std::span<const RowTarget> rows,
                    bool cachePhases, LeftRows left);

/// Stores the gate scores of a pass by ledger id, in CacheState::gateScores. scores: [layers][rows, kvHeads]. Ledger
/// ids that were never scored get NaN.
void keepGateScores(CacheState& state, const std::vector<RowTarget>& rows,
                    const std::vector<std::vector<float>>& scores, int kvHeads);

}  // namespace kvlab
