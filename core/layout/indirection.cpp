// SPDX-License-Identifier: Apache-2.0
// Rows stay in the slots that they were written to. A commit replaces the maps and moves no K/V.
#include "core/layout/layout.h"

namespace kvlab {
namespace {

class Indirection : public StorageLayout {
 public:
  std::string_view name() const override { return "indirection"; }
  bool inPlace() const override { return false; }
  std::int32_t poolSlots(const LayerDemand& demand) const override {
    return demand.capacity + demand.room + demand.history;
  }
  std::unique_ptr<SlotAllocator> makeSlots(const LayerDemand& demand) const override {
    return std::make_unique<FreeSlots>(poolSlots(demand));
  }
  Result<std::int64_t> settle(Settling&, LayoutContext&) const override { return std::int64_t{0}; }
};

}  // namespace

std::unique_ptr<StorageLayout> makeIndirection(int) { return std::make_unique<Indirection>(); }

}  // namespace kvlab
