// SPDX-License-Identifier: Apache-2.0
// Rows lie as their layout requires. In a ring pointer = (head + filled) mod capacity = (offset - base) mod capacity,
// the rows fit the window, and the i-th oldest row is in the i-th slot from the head on. In pages each row starts its
// page or follows the row before it. Other layouts with consecutive slots have no gaps. semantics.md, section 7.
#include "core/check/checks.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

void report(const SharedMap& shared, std::size_t index, const std::string& what, Findings& findings) {
  findings.add(shared.placeOf(shared.first(), index), shared.name() + ", index " + std::to_string(index) + ": " + what);
}

void checkRing(const SharedMap& shared, const RingState& ring, Findings& findings) {
  Place place{shared.first(), {}, {}};
  if (shared.rows() > 0) place = {shared.first(), shared.rows() - 1, shared.map->ledger[shared.rows() - 1]};
  const auto rule = [&](bool holds, const std::string& what) {
    if (!holds) findings.add(place, shared.name() + ": " + what);
  };
  const auto resident = static_cast<std::int32_t>(shared.map->resident());
  rule(ring.filled == resident,
       "the ring has " + std::to_string(ring.filled) + " rows, the map " + std::to_string(resident));
  rule(ring.filled <= ring.window && ring.window <= ring.capacity,
       std::to_string(ring.filled) + " rows, window " + std::to_string(ring.window) + ", capacity " +
           std::to_string(ring.capacity) + " do not fit");
  const std::int64_t wanted = ring.capacity ? (ring.offset - ring.base) % ring.capacity : 0;
  rule(ring.pointer() == wanted,
       "the pointer is " + std::to_string(ring.pointer()) + ", offset " + std::to_string(ring.offset) + " and base " +
           std::to_string(ring.base) + " make " + std::to_string(wanted));
  if (ring.capacity <= 0) return;
  for (auto i = static_cast<std::size_t>(shared.map->first); i < shared.rows(); ++i) {
    const std::int32_t age = static_cast<std::int32_t>(i) - shared.map->first;
    const std::int32_t slot = ring.rolled ? age : (ring.head + age) % ring.capacity;
    if (shared.map->slotOf[i].value() != slot)
      report(shared, i,
             "lies in slot " + std::to_string(shared.map->slotOf[i].value()) + ", the ring has it in " +
                 std::to_string(slot),
             findings);
  }
}

/// Each row follows the row before it, or starts at a multiple of `block`; with block 0 it always follows.
void checkRuns(const SharedMap& shared, std::int32_t block, Findings& findings) {
  for (auto i = static_cast<std::size_t>(shared.map->first) + 1; i < shared.rows(); ++i) {
    const std::int32_t slot = shared.map->slotOf[i].value(), before = shared.map->slotOf[i - 1].value();
    const bool border = block > 0 && slot % block == 0;
    if (!border && (slot != before + 1 || (block > 0 && before / block != slot / block)))
      report(shared, i, "lies in slot " + std::to_string(slot) + ", the row before in " + std::to_string(before),
             findings);
  }
}

}  // namespace

void checkStorageForm(const CheckInput& input, Findings& findings) {
  for (const SharedMap& shared : storedMaps(input)) {
    const SlotAllocator& slots = input.store.slots(shared.first());
    if (shared.group->ring) checkRing(shared, *shared.group->ring, findings);
    else if (const auto* pages = dynamic_cast<const PageSlots*>(&slots)) checkRuns(shared, pages->block(), findings);
    else if (dynamic_cast<const RunSlots*>(&slots)) checkRuns(shared, 0, findings);
  }
}

}  // namespace kvlab
