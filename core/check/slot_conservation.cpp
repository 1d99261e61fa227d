// SPDX-License-Identifier: Apache-2.0
// Every slot that was ever handed out is free, or named by the present state, or held by history; the numbers of free
// slots and bytes are those that the pool reports; and no slot that an older state names is free, because the next row
// would overwrite a row that going back needs. Layouts that move rows in place have no slots of history. Only full
// checks test this.
#include <algorithm>

#include "core/check/checks.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

/// The row that a stored record says it is, for messages; none where its tag is no row of the ledger.
std::optional<LedgerId> writtenFor(const CheckInput& input, CacheLayer layer, std::int32_t slot) {
  std::uint64_t tag = 0;
  input.store.pool(layer).readTags({&slot, 1}, &tag, nullptr);
  const LedgerId id(static_cast<std::int32_t>(tag));
  return tag < input.state.ledger.size() ? std::optional(id) : std::nullopt;
}

/// Slots that are taken and that nothing names are lost.
void checkLost(const CheckInput& input, const SharedMap& shared, CacheLayer layer, Findings& findings) {
  const SlotAllocator& allocator = input.store.slots(layer);
  std::vector<bool> known(static_cast<std::size_t>(allocator.untouched()));
  const auto name = [&known](std::span<const Slot> slots) {
    for (const Slot slot : slots)
      if (slot.value() >= 0 && static_cast<std::size_t>(slot.value()) < known.size()) known[at(slot.value())] = true;
  };
  name(shared.map->slotOf.span());
  name(input.held->slots[at(layer)]);
  for (std::int32_t slot = 0; slot < static_cast<std::int32_t>(known.size()); ++slot) {
    if (known[at(slot)] || allocator.isFree(Slot(slot))) continue;
    const std::optional<LedgerId> row = writtenFor(input, layer, slot);
    findings.add({layer, {}, row},
                 shared.name(layer) + ": slot " + std::to_string(slot) +
                     " is neither free nor used, and history does not hold it" +
                     (row ? "; " + rowName(*row) + " lies there" : ""));
  }
}

/// The pool has as many bytes as its slots take, and as many free slots as it reports to its users.
void checkCounts(const CheckInput& input, const SharedMap& shared, CacheLayer layer, Findings& findings) {
  const RowPool& pool = input.store.pool(layer);
  const SlotAllocator& allocator = input.store.slots(layer);
  const std::int64_t needed = kernels::rowLayout(pool.format()).stride * pool.slots();
  if (pool.bytes() != needed)
    findings.add({layer},
                 shared.name(layer) + ": the pool has " + std::to_string(pool.bytes()) + " bytes, and its " +
                     std::to_string(pool.slots()) + " slots take " + std::to_string(needed));
  const std::int32_t untouched = allocator.untouched();  // these are free
  const std::vector<bool> free = allocator.free(untouched);
  const std::int64_t counted = std::ranges::count(free, true) + pool.slots() - untouched;
  if (counted != allocator.available(Placing::Look))
    findings.add({layer},
                 shared.name(layer) + ": " + std::to_string(counted) + " slots are free, and " +
                     std::to_string(allocator.available(Placing::Look)) + " are told");
}

/// Slots of an older state are not free.
void checkHeld(const CheckInput& input, const CacheState& older, Findings& findings) {
  if (older.groupOf.size() != input.state.groupOf.size()) return;
  for (const CacheLayer layer : older.layers()) {
    const ResidencyView& map = older.group(layer).stored();
    const SlotAllocator& allocator = input.store.slots(layer);
    for (auto i = static_cast<std::size_t>(map.first); i < std::min(map.slotOf.size(), map.ledger.size()); ++i)
      if (map.slotOf[i].value() >= 0 && allocator.isFree(map.slotOf[i]))
        return findings.add({layer, i, map.ledger[i]},
                            "layer " + input.state.cacheLayers().name(layer) + ": slot " +
                                std::to_string(map.slotOf[i].value()) + " is free, and the state of tick " +
                                std::to_string(older.tick.value()) + " has " + rowName(map.ledger[i]) + " there");
  }
}

}  // namespace

void checkSlotConservation(const CheckInput& input, Findings& findings) {
  if (!input.held || input.state.kind->draftedFrom()) return;
  for (const SharedMap& shared : storedMaps(input))
    for (const CacheLayer layer : shared.layers)
      if (!dynamic_cast<const RunSlots*>(&input.store.slots(layer))) {
        checkLost(input, shared, layer, findings);
        checkCounts(input, shared, layer, findings);
      }
  for (const CacheState* older : input.held->states) checkHeld(input, *older, findings);
}

}  // namespace kvlab
