// SPDX-License-Identifier: Apache-2.0
// Base class of layouts that keep rows in context order in consecutive slots. Pools have no room for history. New rows
// get slots behind the last row. Engine thread.
#pragma once
#include "core/layout/layout.h"

namespace kvlab {

class Contiguous : public StorageLayout {
 public:
  bool inPlace() const override { return true; }
  std::int32_t poolSlots(const LayerDemand& demand) const override { return demand.pooled() + demand.room; }
  std::unique_ptr<SlotAllocator> makeSlots(const LayerDemand& demand) const override {
    return std::make_unique<RunSlots>(poolSlots(demand), poolSlots(demand), false);
  }
  Result<std::int64_t> settle(Settling& settling, LayoutContext& context) const override;

 protected:
  /// Moves that bring the resident rows of one layer to the slots base, base + 1, ...
  virtual Result<ReadyMoves> arranging(const ResidencyView& map, RowPool& pool, std::int32_t base) const = 0;
  /// Slot of the first row after an edit.
  virtual std::int32_t baseOf(const ResidencyView&, const RunSlots&) const { return 0; }
};

}  // namespace kvlab
