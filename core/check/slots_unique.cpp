// SPDX-License-Identifier: Apache-2.0
// Every map entry names a slot inside its pool, no two entries of a layer name the same slot, and no named
// slot is free, because a free slot would go to the next row.
#include <algorithm>

#include "core/check/checks.h"
#include "core/check/findings.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

std::string slotName(std::size_t slot) { return "slot " + std::to_string(slot); }

/// [highest used slot + 1] index of the map entry that names the slot, or -1. Reports slots outside the pool and slots
/// named twice.
std::vector<std::int32_t> slotUsers(const SharedMap& shared, std::int32_t slots, Findings& findings) {
  std::int32_t highest = -1;
  for (Slot slot : shared.map->residentSlots())
    if (slot.value() < slots) highest = std::max(highest, slot.value());
  std::vector<std::int32_t> user(static_cast<std::size_t>(highest + 1), -1);
  for (auto i = static_cast<std::size_t>(shared.map->first); i < shared.map->slotOf.size(); ++i) {
    const Slot slot = shared.map->slotOf[i];
    Place place{shared.first(), i, {}};
    if (i < shared.map->ledger.size()) place.ledger = shared.map->ledger[i];
    const auto where = [&] { return shared.name() + ", index " + std::to_string(i); };
    if (slot.value() < 0 || slot.value() >= slots) {
      findings.add(
          place,
          where() + ": slot " + std::to_string(slot.value()) + " is outside the pool of " + std::to_string(slots));
      continue;
    }
    const auto s = static_cast<std::size_t>(slot.value());
    if (user[s] >= 0)
      findings.add(place, where() + ": " + slotName(s) + " is already used by index " + std::to_string(user[s]));
    user[s] = static_cast<std::int32_t>(i);
  }
  return user;
}

void checkFree(const SharedMap& shared, CacheLayer layer, const SlotAllocator& slots,
               const std::vector<std::int32_t>& user, Findings& findings) {
  const std::vector<bool> free = slots.free(static_cast<std::int32_t>(user.size()));
  for (std::size_t slot = 0; slot < user.size(); ++slot) {
    if (!free[slot] || user[slot] < 0) continue;
    const auto index = static_cast<std::size_t>(user[slot]);
    Place place{layer, index, {}};
    if (index < shared.map->ledger.size()) place.ledger = shared.map->ledger[index];
    findings.add(
        place,
        shared.name(layer) + ", index " + std::to_string(index) + ": " + slotName(slot) + " is used and free at once");
  }
}

}  // namespace

void checkSlotsUnique(const CheckInput& input, std::vector<Violation>& out) {
  Findings findings("slots_unique", out);
  for (const SharedMap& shared : storedMaps(input)) {
    const std::int32_t slots = input.store.pool(shared.first()).slots();
    const std::vector<std::int32_t> user = slotUsers(shared, slots, findings);
    for (const CacheLayer layer : shared.layers) checkFree(shared, layer, input.store.slots(layer), user, findings);
  }
}

}  // namespace kvlab
