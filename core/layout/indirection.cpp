// SPDX-License-Identifier: Apache-2.0
// Rows stay where they were written. A commit is the swap of the maps and moves no K/V at all, unless most of a prompt
// has left: then the remaining rows move to the front of the pool, so that the pool can end early.
#include <algorithm>
#include <set>

#include "core/layout/layout.h"
#include "core/layout/row_mover.h"
#include "core/model/decoder/backend_status.h"

namespace kvlab {
namespace {

class Indirection : public StorageLayout {
 public:
  std::string_view name() const override { return "indirection"; }
  bool inPlace() const override { return false; }
  std::int32_t poolSlots(const LayerDemand& demand) const override {
    return demand.pooled() + demand.room + demand.history;
  }
  std::unique_ptr<SlotAllocator> makeSlots(const LayerDemand& demand) const override {
    return std::make_unique<FreeSlots>(poolSlots(demand));
  }
  Result<std::int64_t> settle(Settling& settling, LayoutContext& context) const override {
    if (settling.loose.empty()) return std::int64_t{0};
    const std::vector<std::size_t> rows = moveToFront(settling, context.store);
    if (rows.empty()) return std::int64_t{0};
    for (std::size_t i = 0; i < settling.layers.size(); ++i)
      KV_TRY(context.faults.pass(FaultPoint::Copy, "moving rows"));
    auto map = std::make_shared<ResidencyView>(*settling.group.map);
    std::vector<Slot> slots(map->slotOf.begin(), map->slotOf.end());
    std::vector<kernels::RowMove> moves;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      addMove(moves, slots[rows[i]].value(), settling.taken[i].value());
      slots[rows[i]] = settling.taken[i];
    }
    map->slotOf.assign(slots);
    settling.group.map = std::move(map);
    std::int64_t bytes = 0;
    for (const CacheLayer layer : settling.layers) {
      RowPool& pool = context.store.pool(layer);
      static_cast<FreeSlots&>(context.store.slots(layer)).claim(settling.taken);
      pool.move(pool, moves);
      bytes += 2 * static_cast<std::int64_t>(rows.size()) * pool.stride();
    }
    KV_TRY(backendStatus(context.store.backend(), "moving rows"));
    return bytes;
  }

 private:
  /// The loose rows behind free slots, in the order of their slots, and where each goes: the highest rows and the
  /// lowest slots that are free in every layer, so that no row moves over another.
  static std::vector<std::size_t> moveToFront(Settling& settling, const CacheStore& store) {
    const ResidencyView& map = *settling.group.map;
    const std::span<const Slot> slots = map.slotOf.span();
    const std::set<Slot> loose(settling.loose.begin(), settling.loose.end());
    std::vector<std::size_t> rows;
    for (std::size_t i = at(map.first); i < slots.size(); ++i)  // rows before it have left, and name slots of others
      if (loose.contains(slots[i])) rows.push_back(i);
    std::ranges::sort(rows, {}, [&](std::size_t i) { return slots[i]; });
    if (rows.empty()) return rows;
    std::vector<bool> free(at(slots[rows.back()].value()), true);
    for (const CacheLayer layer : settling.layers) {
      const std::vector<bool> own = store.slots(layer).free(static_cast<std::int32_t>(free.size()));
      for (std::size_t slot = 0; slot < free.size(); ++slot) free[slot] = free[slot] && own[slot];
    }
    std::size_t first = rows.size();
    for (std::int32_t to = 0; first > 0 && to < slots[rows[first - 1]].value(); ++to) {
      if (!free[at(to)]) continue;
      settling.taken.emplace_back(to);
      settling.left.push_back(slots[rows[--first]]);
    }
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(first));
    return rows;
  }
};

}  // namespace

std::unique_ptr<StorageLayout> makeIndirection(int) { return std::make_unique<Indirection>(); }

}  // namespace kvlab
