// SPDX-License-Identifier: Apache-2.0
// Lists that reads of rings take as they are, in memory that ops can read: the slots of each table (slot_tables.h), the
// places 0, 1, 2, ... of a copy, and tags of rows that nobody looks up by them. They are made once; a device gets them
// when a read first meets the table, and no pass sends them again. Besides it knows how far the rows of a map lie in
// the order of their ring, so that a read looks at new rows alone. Part of a store; engine thread.
#pragma once
#include <memory>
#include <vector>

#include "core/api/snapshot.h"
#include "core/state/slot_tables.h"
#include "kernels/backend/array.h"
#include "kernels/backend/staging.h"

namespace kvlab {

/// Copies that passes made of a layer's window since its pool is there.
struct CopyCounts {
  std::int64_t held = 0;    // from lists that are held
  std::int64_t listed = 0;  // from lists made for the read, row by row
};

class RingReads {
 public:
  /// True if rows [first, last) of a group's map, at least one, lie one behind another in a ring of so many slots. It
  /// costs as much as there are rows that the map did not have in the last call.
  bool inOrder(std::size_t group, const ResidencyView& map, std::int32_t first, std::int32_t last, std::int32_t slots);

  /// For `rows` rows from `head` on: their slots, and tags. Both are [rows], and valid as long as the staging.
  struct Rows {
    const std::int32_t* slots = nullptr;
    const std::uint64_t* tags = nullptr;
  };
  Rows rows(kernels::Backend& backend, kernels::Staging& staging, const std::shared_ptr<const SlotTables>& tables,
            std::int32_t head, std::int32_t rows);
  /// The places 0, 1, ... of so many rows.
  const std::int32_t* places(kernels::Backend& backend, std::int32_t rows);
  /// [count] the places of a map's rows in a copy of [first, last): entry `first` is 0. Other entries are never used.
  const std::int32_t* placesFrom(kernels::Backend& backend, kernels::Staging& staging, std::int32_t first,
                                 std::int32_t last, std::int64_t count);

  CopyCounts& counts(CacheLayer layer);
  CopyCounts counts(CacheLayer layer) const { return at(layer) < m_counts.size() ? m_counts[at(layer)] : CopyCounts{}; }

 private:
  /// Rows [begin, end) of a column are known to be in order.
  struct Known {
    Column<Slot> slots;  // holds the buffer, so that no other column gets its address
    std::int32_t lap = 0, begin = 0, end = 0;
  };
  /// Zeros, and behind them 0, 1, 2, ...
  struct Ramp {
    std::vector<std::int32_t> values;
    kernels::Array<std::int32_t> placed;  // on a device
    std::size_t zeros = 0;
  };
  struct Held {
    std::shared_ptr<const SlotTables> tables;
    std::vector<std::uint64_t> tags;
    kernels::Array<std::int32_t> placed;  // on a device: the table's laps, and
    kernels::Array<std::uint64_t> placedTags;
  };
  const Ramp& ramp(kernels::Backend& backend, std::size_t zeros, std::size_t rows);
  const Held& held(kernels::Backend& backend, const std::shared_ptr<const SlotTables>& tables);

  std::vector<Known> m_known;  // [groups]
  std::vector<Ramp> m_ramps;   // the last one serves; a pass may still read one before it
  std::vector<Held> m_held;
  std::vector<CopyCounts> m_counts;  // [layers]
};

}  // namespace kvlab
