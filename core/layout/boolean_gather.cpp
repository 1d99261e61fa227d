// SPDX-License-Identifier: Apache-2.0
// An edit is one gather: all rows that stay, new rows included, are copied to the other half of the pool.
// The whole cache moves, but each row moves once, and over another row only where a smaller pool has grown.
#include "core/layout/contiguous.h"

namespace kvlab {
namespace {

class BooleanGather : public Contiguous {
 public:
  std::string_view name() const override { return "boolean_gather"; }
  std::int32_t poolSlots(const LayerDemand& demand) const override { return 2 * (demand.pooled() + demand.room); }
  std::unique_ptr<SlotAllocator> makeSlots(const LayerDemand& demand) const override {
    return std::make_unique<RunSlots>(poolSlots(demand), poolSlots(demand) / 2, false);
  }

 protected:
  std::int32_t baseOf(const ResidencyView& map, const RunSlots& slots) const override {
    return map.resident() && map.residentSlots()[0].value() < slots.lap() ? slots.lap() : 0;
  }
  Result<ReadyMoves> arranging(const ResidencyView& map, RowPool& pool, std::int32_t base) const override {
    std::vector<kernels::RowMove> moves;
    for (std::int32_t to = base; const Slot slot : map.residentSlots()) addMove(moves, slot.value(), to++);
    return ReadyMoves::of(pool, std::move(moves));
  }
};

}  // namespace

std::unique_ptr<StorageLayout> makeBooleanGather(int) { return std::make_unique<BooleanGather>(); }

}  // namespace kvlab
