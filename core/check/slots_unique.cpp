// SPDX-License-Identifier: Apache-2.0
// Every map entry names a slot inside its pool, no two entries of a layer name the same slot, and no named
// slot is free, because a free slot would go to the next row.
#include <algorithm>

#include "core/check/checks.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

std::string slotName(std::size_t slot) { return "slot " + std::to_string(slot); }

constexpr std::size_t kFew = 8;  // slots that are looked for one by one

/// True if the rows that are new to the check are few and have slots inside the pool that no other row has.
bool fewAndNew(const SharedMap& shared, std::span<const std::size_t> fresh, std::int32_t slots) {
  const std::span<const Slot> all = shared.map->slotOf.span();
  const auto first = static_cast<std::size_t>(shared.map->first);
  if (fresh.size() > kFew || all.size() != shared.rows()) return false;
  return std::ranges::all_of(fresh, [&](std::size_t i) {
    return i >= first && all[i].value() >= 0 && all[i].value() < slots &&
        std::ranges::count(all.subspan(first), all[i]) == 1;
  });
}

/// Reports slots outside the pool and slots named twice; false if there are some outside.
bool checkNamed(const SharedMap& shared, std::int32_t slots, Findings& findings) {
  const std::span<const Slot> all = shared.map->slotOf.span();
  bool inside = true;
  std::int32_t highest = -1;
  for (const Slot slot : all) highest = std::max(highest, slot.value());
  std::vector<bool> named(at(std::min(highest, slots - 1) + 1));
  for (auto i = static_cast<std::size_t>(shared.map->first); i < all.size(); ++i) {
    const bool there = all[i].value() >= 0 && all[i].value() < slots;
    if (there && !named[at(all[i].value())]) {
      named[at(all[i].value())] = true;
      continue;
    }
    const auto where = [&] { return shared.name() + ", index " + std::to_string(i); };
    if (!there) {
      findings.add(
          shared.placeOf(shared.first(), i),
          where() + ": slot " + std::to_string(all[i].value()) + " is outside the pool of " + std::to_string(slots));
      inside = false;
      continue;
    }
    const auto other = std::find(all.rend() - static_cast<std::ptrdiff_t>(i), all.rend(), all[i]);
    findings.add(shared.placeOf(shared.first(), i),
                 where() + ": " + slotName(at(all[i].value())) + " is already used by index " +
                     std::to_string(all.rend() - other - 1));
  }
  return inside;
}

void checkFree(const SharedMap& shared, CacheLayer layer, const SlotAllocator& allocator, std::int32_t slots,
               Findings& findings) {
  const std::span<const Slot> all = shared.map->slotOf.span();
  for (auto i = static_cast<std::size_t>(shared.map->first); i < all.size(); ++i)
    if (all[i].value() >= 0 && all[i].value() < slots && allocator.isFree(all[i]))
      findings.add(shared.placeOf(layer, i),
                   shared.name(layer) + ", index " + std::to_string(i) + ": " +
                       slotName(static_cast<std::size_t>(all[i].value())) + " is used and free at once");
}

}  // namespace

void checkSlotsUnique(const CheckInput& input, Findings& findings) {
  for (const SharedMap& shared : storedMaps(input)) {
    const std::int32_t slots = input.store.pool(shared.first()).slots();
    const bool inside = fewAndNew(shared, freshRows(input, shared), slots) || checkNamed(shared, slots, findings);
    const std::span<const Slot> slotOf = shared.map->slotOf.span(),
                                all = slotOf.subspan(
                                    std::min(static_cast<std::size_t>(shared.map->first), slotOf.size()));
    const std::vector<SlotRange> runs = runsOf(all);
    for (const CacheLayer layer : shared.layers)
      if (!inside || input.store.slots(layer).anyFree(runs))
        checkFree(shared, layer, input.store.slots(layer), slots, findings);
  }
}

}  // namespace kvlab
