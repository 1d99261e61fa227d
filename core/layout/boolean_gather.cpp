// SPDX-License-Identifier: Apache-2.0
// Treats an edit as one gather: copies all remaining rows and all new rows to the other half of the pool. The whole
// cache is copied, but each row is copied once and overwrites no other row.
#include "core/layout/contiguous.h"
#include "core/layout/row_mover.h"
#include "core/model/decoder/backend_status.h"

namespace kvlab {
namespace {

class BooleanGather : public Contiguous {
 public:
  std::string_view name() const override { return "boolean_gather"; }
  std::int32_t poolSlots(const LayerDemand& demand) const override { return 2 * (demand.capacity + demand.room); }
  std::unique_ptr<SlotAllocator> makeSlots(const LayerDemand& demand) const override {
    return std::make_unique<RunSlots>(poolSlots(demand), demand.capacity + demand.room, false);
  }

 protected:
  std::int32_t baseOf(const ResidencyView& map, const RunSlots& slots) const override {
    return map.resident() && map.residentSlots()[0].value() < slots.lap() ? slots.lap() : 0;
  }
  Result<std::int64_t> arrange(const ResidencyView& map, RowPool& pool, std::int32_t base) const override {
    std::vector<kernels::RowMove> moves;
    for (std::int32_t to = base; const Slot slot : map.residentSlots()) addMove(moves, slot.value(), to++);
    pool.move(pool, moves);
    if (Status done = backendStatus(pool.backend(), "moving rows"); !done) return done.error();
    return 2 * static_cast<std::int64_t>(map.resident()) * pool.stride();
  }
};

}  // namespace

std::unique_ptr<StorageLayout> makeBooleanGather(int) { return std::make_unique<BooleanGather>(); }

}  // namespace kvlab
