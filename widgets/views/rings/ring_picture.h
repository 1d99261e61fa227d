// SPDX-License-Identifier: GPL-3.0-or-later
// The content of a ring for painting: the row in each slot from the map, compared with the slots that the ring's state
// requires. A slot is wrong if both disagree; wrong slots are always visible. A pure function of a snapshot; any
// thread.
#pragma once
#include <QStringList>
#include <utility>
#include <vector>

#include "widgets/base/storage_groups.h"

namespace kvlab {

/// The content of a slot; later values win if slots share a pixel.
enum class SlotUse : std::uint8_t {
  Free,
  Room,     // reserved for the pending block, ahead of the pointer
  Row,      // from the head to the end of the ring (len1)
  Wrapped,  // from slot 0 to the pointer (len2)
  Wrong,    // map and ring disagree
};

struct RingPicture {
  SnapshotPtr snapshot;
  StorageGroup group;
  RingState ring;
  std::vector<SlotUse> use;              // [capacity]
  std::vector<std::int32_t> rowAt;       // [capacity] row in logical order, 0 = oldest; -1 = none
  std::vector<std::int32_t> slotOf;      // [rows]
  std::vector<std::int32_t> positionOf;  // [rows] context positions, -1 = none
  int wrong = 0;

  int slotCount() const { return ring.capacity; }
  int rows() const { return static_cast<int>(slotOf.size()); }
  /// Slots of the oldest row and of the next row, also for a rolled ring.
  int head() const { return ring.rolled ? 0 : ring.head; }
  int pointer() const { return ring.rolled ? ring.filled % std::max(1, ring.capacity) : ring.pointer(); }
  bool written(int slot) const;
  /// Row in logical order at a context position, -1 = none.
  int rowOf(Position position) const { return kvlab::rowAt(positionOf, position); }
  /// Index in the residency map of a row in logical order.
  int indexOf(int row) const { return group.map->first + row; }
  /// Text about the content of a slot.
  QString describe(int slot) const;
};

/// The ring of a group; empty if it has none.
std::optional<RingPicture> ringPicture(SnapshotPtr snapshot, const StorageGroup& group);

/// Slots [begin, end) with the same use, merged.
struct SlotRun {
  int begin = 0, end = 0;
  SlotUse use = SlotUse::Free;
};
std::vector<SlotRun> slotRuns(const RingPicture& ring);

/// Names and values of a ring's figures, in reading order.
enum class RingMark : std::uint8_t { None, Row, Wrapped, Room, Written, Wrong };
struct RingFigure {
  QString name, value;
  RingMark mark = RingMark::None;  // the mark if the figure is also a legend entry
};
std::vector<RingFigure> ringFigures(const RingPicture& ring);

}  // namespace kvlab
