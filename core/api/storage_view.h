// SPDX-License-Identifier: Apache-2.0
// The storage of one layer's rows, as the window, scripts and reports see it: layout, formats, slots,
// bytes measured from the buffers, ring and pages. Values; any thread. semantics.md, section 7.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/api/ids.h"

namespace kvlab {

/// Attention reads a layer's rows in place through the map, or from a contiguous copy that is assembled
/// before each read, the oldest row first.
enum class ReadPath : std::uint8_t {
  InPlace,    // attention and dequantisation read the pool
  TwoSlices,  // two copies, always: from the head to the end of the ring, and from its start to the pointer
  Table,      // gathered and dequantised through the table of slots of the ring's phase
  Roll,       // whole blocks dequantised in the order of the slots, then rolled
};

/// Slots of a ring that lie one behind another.
struct RingRun {
  std::int32_t begin = 0, count = 0;
  bool operator==(const RingRun&) const = default;
};

/// A ring of `capacity` slots that keeps the last `window` rows. The other slots are room for the pending
/// block: a tick computes the block ahead of the pointer, so that its commit moves no row. Always:
/// pointer = (head + filled) mod capacity = (offset - base) mod capacity.
struct RingState {
  std::int32_t capacity = 0;                    // slots
  std::int32_t window = 0;                      // rows kept, at most
  std::int32_t block = 1;                       // tokens of a tick; divides capacity
  std::int32_t head = 0;                        // slot of the oldest row (of an unrolled ring)
  std::int32_t filled = 0;                      // rows
  std::int64_t offset = 0;                      // rows ever written
  std::int64_t base = 0;                        // changes only by an edit, a trim or a rollback
  std::int64_t wraps = 0;                       // times the pointer passed slot 0 by appending
  Tick baseTick;                                // when the base last changed
  std::int32_t writeBegin = 0, writeCount = 0;  // slots that the last commit wrote, from writeBegin on around the end
  bool rolled = false;                          // rows lie rotated by head, the oldest in slot 0

  std::int32_t phase() const { return head / block; }  // number of the block of the oldest row
  std::int32_t pointer() const { return capacity ? (head + filled) % capacity : 0; }
  std::int32_t len1() const { return capacity - head < filled ? capacity - head : filled; }  // rows up to the end
  std::int32_t len2() const { return filled - len1(); }                                      // rows from slot 0 on
  /// Where its rows lie, the oldest first: from one slot on, and from slot 0 on behind the end.
  std::array<RingRun, 2> runs() const {
    if (rolled) return {RingRun{0, filled}, RingRun{}};
    return {RingRun{head, len1()}, RingRun{0, len2()}};
  }
  /// Slots of the whole blocks that `rows` rows from `slot` on around the end lie in.
  std::int32_t inBlocks(std::int32_t slot, std::int32_t rows) const {
    return std::min(capacity, (slot % block + rows + block - 1) / block * block);
  }
  bool operator==(const RingState&) const = default;
};

struct PageState {
  std::int32_t block = 0;  // slots per page
  std::int32_t pages = 0, used = 0;
  std::int32_t rows = 0;  // in used pages; the rest of their slots are holes
  double fragmentation() const { return used ? 1.0 - double(rows) / (double(used) * block) : 0; }
};

struct BytesByKind {
  std::int64_t k = 0, v = 0, scales = 0, tags = 0, padding = 0;
  std::int64_t sum() const { return k + v + scales + tags + padding; }
};

struct StorageView {
  std::string layout;          // as in the manifest, with parameters
  std::string k, v;            // storage types
  std::int32_t poolSlots = 0;  // addresses; on the CPU a page takes memory when a row is first written there
  std::int32_t roomSlots = 0;  // these slots without those reserved for older states
  std::int32_t stride = 0;     // bytes of a row record
  std::int32_t rows = 0;       // resident
  std::int32_t first = 0;      // index of the oldest resident row; rows before it left through the window
  std::int32_t window = 0;     // phases that the mask lets through, 0 = all
  std::int32_t held = 0;       // slots that are not free: resident rows and rows that history keeps
  BytesByKind record;          // bytes of one row
  ReadPath read = ReadPath::InPlace;
  bool tailOnly = false;        // copies take only rows that the mask lets through
  std::int64_t readBytes = 0;   // per pass, to assemble the rows that attention reads; 0 = in place
  std::int64_t movedBytes = 0;  // by the last commit
  std::optional<RingState> ring;
  std::optional<PageState> pages;
};

}  // namespace kvlab
