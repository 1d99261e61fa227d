// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/storage/slot_cells.h"

#include <QCoreApplication>
#include <algorithm>
#include <bit>

namespace kvlab {
namespace {

void placeFree(SlotCells& out, const SlotRuns& free) {
  std::replace(out.use.begin(), out.use.end(), CellUse::NoRow, CellUse::Held);
  for (const auto& [begin, count] : free)
    for (std::int32_t slot = std::max(0, begin); slot < begin + count && slot < out.slotCount(); ++slot)
      if (out.use[at(slot)] == CellUse::Held) out.use[at(slot)] = CellUse::Free;
}

/// A free slot in a page with rows is a hole.
void placeHoles(SlotCells& out) {
  for (int page = 0; page < out.slotCount(); page += out.block) {
    const auto begin = out.use.begin() + page, end = out.use.begin() + std::min(page + out.block, out.slotCount());
    if (std::find(begin, end, CellUse::Row) != end) std::replace(begin, end, CellUse::Free, CellUse::Hole);
  }
}

void placeRing(SlotCells& out, const RingState& ring) {
  if (ring.capacity <= 0) return;
  out.head = ring.rolled ? 0 : ring.head;
  out.pointer = ring.rolled ? ring.filled % ring.capacity : ring.pointer();
  const int room = ring.capacity - std::max(ring.window, ring.filled);
  for (int i = 0; i < room; ++i) {
    const auto slot = at((out.pointer + i) % ring.capacity);
    if (slot < out.use.size() && (out.use[slot] == CellUse::Free || out.use[slot] == CellUse::NoRow))
      out.use[slot] = CellUse::Room;
  }
}
}  // namespace

QString title(CellUse use) {
  static constexpr std::array<const char*, kCellUses> kTitles = {"free", "room for new rows", "no row",
                                                                 "row",  "held by history",   "hole in a page"};
  return QCoreApplication::translate("kvlab::SlotCells", kTitles[static_cast<std::size_t>(use)]);
}

int SlotCells::extent() const {
  const auto inUse = [](CellUse one) { return one != CellUse::Free && one != CellUse::NoRow; };
  const auto last = std::find_if(use.rbegin(), use.rend(), inUse);
  const auto wanted = std::bit_ceil(std::max<std::size_t>(64, static_cast<std::size_t>(use.rend() - last)));
  const std::size_t page = block > 0 ? at(block) : 1, whole = (wanted + page - 1) / page * page;
  return static_cast<int>(use.size() > 4 * whole ? whole : use.size());
}

SlotCells slotCells(const Snapshot& s, const StorageGroup& group, const std::optional<SlotRuns>& free) {
  SlotCells out;
  out.use.assign(at(std::max(0, group.storage->poolSlots)), CellUse::NoRow);
  out.rowAt.assign(out.use.size(), -1);
  out.positionOf = positionsOf(s, *group.map);
  for (const Slot slot : group.map->residentSlots()) {
    const auto row = static_cast<std::int32_t>(out.slotOf.size());
    out.slotOf.push_back(slot.value());
    if (slot.value() < 0 || slot.value() >= out.slotCount()) continue;
    out.use[at(slot.value())] = CellUse::Row;
    out.rowAt[at(slot.value())] = row;
  }
  if (group.storage->held == group.storage->rows)
    std::replace(out.use.begin(), out.use.end(), CellUse::NoRow, CellUse::Free);  // no slot is held by history
  if (free) placeFree(out, *free);
  if (group.storage->pages) out.block = std::max(1, group.storage->pages->block);
  if (out.block) placeHoles(out);
  if (group.storage->ring) placeRing(out, *group.storage->ring);
  for (const CellUse use : out.use) ++out.counts[at(static_cast<int>(use))];
  return out;
}

}  // namespace kvlab
