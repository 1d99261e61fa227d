// SPDX-License-Identifier: GPL-3.0-or-later
// The content of each slot of a pool. Rows come from the residency map. The free slots among the others are known for
// the newest tick only, after a query. A pure function; any thread.
#pragma once
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "widgets/base/storage_groups.h"

namespace kvlab {

/// Later values win if slots share a cell.
enum class CellUse : std::uint8_t { Free, Room, NoRow, Row, Held, Hole };
inline constexpr int kCellUses = 6;
QString title(CellUse use);

struct SlotCells {
  std::vector<CellUse> use;              // [slots]
  std::vector<std::int32_t> rowAt;       // [slots] row in logical order, -1 = none
  std::vector<std::int32_t> slotOf;      // [rows]
  std::vector<std::int32_t> positionOf;  // [rows]
  std::array<int, kCellUses> counts{};   // by use
  int block = 0;                         // slots per page, 0 = no pages
  int head = -1, pointer = -1;           // ring layouts, else -1

  int slotCount() const { return static_cast<int>(use.size()); }
  int countOf(CellUse what) const { return counts[static_cast<std::size_t>(what)]; }
  int rowOf(Position position) const { return kvlab::rowAt(positionOf, position); }
  /// Slots worth drawing: all of them, unless few of a large pool are in use. Then those up to the last one in use, and
  /// some more, so that the number changes seldom: a power of two, at least 64, in whole pages.
  int extent() const;
};

using SlotRuns = std::vector<std::pair<std::int32_t, std::int32_t>>;  // first slot, count

/// free: runs of free slots; empty if unknown.
SlotCells slotCells(const Snapshot& snapshot, const StorageGroup& group, const std::optional<SlotRuns>& free);

}  // namespace kvlab
