// SPDX-License-Identifier: Apache-2.0
// The queries of a forward pass as the layers of one group see them: which phase each is rotated to
// and which rows of the map it may look at. Masks come from phases and residency alone. Pure.
#pragma once
#include <span>
#include <vector>

#include "core/state/cache_state.h"

namespace kvlab {

/// A row to compute: where it stands in the context.
struct RowTarget {
  LedgerId id;
  TokenId token;
  std::int32_t position = 0;
  std::int32_t phase = 0;  // used in layers where the row is not in the map
};

struct GroupPass {
  std::vector<std::int32_t> phase, rowBegin, rowEnd;  // [rows]; rowEnd includes a resident row itself
  std::vector<bool> resident;                         // [rows]
  bool allResident = true;
};

/// Whether rows that left only through the window count: a pass over live rows cannot see them, a
/// rebuild computes them again.
enum class LeftRows : std::uint8_t { Gone, Present };

/// `rows` ascend by position. cachePhases: a row that the map lacks has the phase "rows before it".
GroupPass groupPass(const Column<LedgerId>& context, const LayerGroup& group, std::span<const RowTarget> rows,
                    bool cachePhases, LeftRows left);

}  // namespace kvlab
