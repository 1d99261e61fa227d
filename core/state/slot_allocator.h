// SPDX-License-Identifier: Apache-2.0
// Hands out the slots of one layer's row pool. The layout chooses the order: any free slot (FreeSlots), consecutive
// slots, with wrap-around in rings (RunSlots), or whole pages (PageSlots). Layers that evict alike get the same slots,
// so they share one residency map. Engine thread.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/api/ids.h"

namespace kvlab {

/// The purpose of slots.
enum class Placing : std::uint8_t {
  Scratch,  // computed or inserted rows; the layout moves them at the commit
  Tail,     // rows appended behind the row `after`
  Look,     // rows of a pass that only looks and gives them back
};

/// Consecutive slots.
struct SlotRange {
  Slot first;
  std::int32_t count;
};
/// The slots, in their order, in runs of consecutive ones: most maps are a few.
std::vector<SlotRange> runsOf(std::span<const Slot> slots);

class SlotAllocator {
 public:
  virtual ~SlotAllocator() = default;
  /// Number of slots that take() can return.
  virtual std::int32_t available(Placing placing = Placing::Scratch) const = 0;
  /// True if take() can give `count` scratch slots and then `tail` slots behind the row `after`.
  virtual bool fits(std::int32_t count, std::int32_t tail, Slot) const {
    return count + tail <= available(count ? Placing::Scratch : Placing::Tail);
  }
  /// Adds the slots that it takes to `out`. There must be room for them. after: slot of the row before; -1 = none.
  virtual void take(std::int32_t count, std::vector<Slot>& out, Placing placing = Placing::Scratch,
                    Slot after = Slot(-1)) = 0;
  /// Returns slots that no state names. Allocates no memory: take() has reserved enough.
  virtual void give(std::span<const Slot> slots) = 0;
  /// Frees every slot except `taken`, given in logical order.
  virtual void restart(std::span<const SlotRange> taken) = 0;
  virtual bool isFree(Slot slot) const = 0;
  /// True if one of these is free.
  virtual bool anyFree(std::span<const SlotRange> runs) const = 0;
  /// For each of the first `below` slots, whether it is free.
  std::vector<bool> free(std::int32_t below) const;
  /// The end of the slots that are taken, where resize() can cut a pool off behind it.
  virtual std::optional<std::int32_t> end() const { return {}; }
  /// The pool has so many slots now, none of them before end() taken away.
  virtual void resize(std::int32_t) {}
  /// Slots from here on were never taken.
  std::int32_t untouched() const { return m_untouched; }

 protected:
  void touch(std::int32_t end) { m_untouched = std::max(m_untouched, end); }
  void touchedOnly(std::int32_t end) { m_untouched = end; }

 private:
  std::int32_t m_untouched = 0;
};

/// Slots per layer, [layers][n].
using LayerSlots = std::vector<std::vector<Slot>>;

/// Removes the slots of `less` from `from`; the others keep their order.
void removeSlots(std::vector<Slot>& from, std::vector<Slot> less);

/// Takes the lowest free slots: which they are depends on the taken ones alone, and not on what was taken before.
class FreeSlots : public SlotAllocator {
 public:
  explicit FreeSlots(std::int32_t slots) : m_slots(slots) {}
  std::int32_t available(Placing) const override { return m_slots - m_used; }
  void take(std::int32_t count, std::vector<Slot>& out, Placing, Slot) override;
  void give(std::span<const Slot> slots) override;
  void restart(std::span<const SlotRange> taken) override;
  bool isFree(Slot slot) const override { return at(slot) >= m_taken.size() || !m_taken[at(slot)]; }
  bool anyFree(std::span<const SlotRange> runs) const override;
  std::optional<std::int32_t> end() const override;
  void resize(std::int32_t slots) override;
  /// Takes slots that are free and were handed out before.
  void claim(std::span<const Slot> slots);

 private:
  void claim(const SlotRange& run);

  std::int32_t m_slots, m_used = 0;
  std::size_t m_lowest = 0;           // no slot before this one is free
  std::vector<std::uint8_t> m_taken;  // [slots ever taken] bytes, because each tick looks at all rows
};

/// Takes consecutive slots from a pointer on. Rows never cross a multiple of `lap`, except in a ring that fills the
/// whole pool, where they wrap around. After each commit the layout sets the pointer with place().
class RunSlots : public SlotAllocator {
 public:
  RunSlots(std::int32_t slots, std::int32_t lap, bool ring) : m_slots(slots), m_lap(lap), m_ring(ring), m_free(lap) {}
  /// The tail of a ring takes any number of rows, because old rows leave while new rows come.
  std::int32_t available(Placing placing) const override {
    return m_ring && placing == Placing::Tail ? std::numeric_limits<std::int32_t>::max() : std::max(0, m_free);
  }
  void take(std::int32_t count, std::vector<Slot>& out, Placing, Slot) override;
  void give(std::span<const Slot> slots) override;
  void restart(std::span<const SlotRange> taken) override;
  bool isFree(Slot slot) const override;
  bool anyFree(std::span<const SlotRange> runs) const override;
  void place(std::int32_t next, std::int32_t free);
  /// Adds slots of rows that left at the old end, before the layout calls place().
  void widen(std::int32_t rows) { m_free += rows; }
  std::int32_t lap() const { return m_lap; }

 private:
  std::int32_t m_slots, m_lap;
  bool m_ring;
  std::int32_t m_next = 0, m_free;
};

/// Pages of `block` slots. A row is appended to the page of the preceding row, or to a fresh page.
class PageSlots : public SlotAllocator {
 public:
  PageSlots(std::int32_t slots, std::int32_t block);
  /// Slots of pages that are entirely free; to look, any free slots.
  std::int32_t available(Placing placing) const override {
    return placing == Placing::Look ? m_free : m_freePages * m_block;
  }
  bool fits(std::int32_t count, std::int32_t tail, Slot after) const override;
  void take(std::int32_t count, std::vector<Slot>& out, Placing placing, Slot after) override;
  void give(std::span<const Slot> slots) override;
  void restart(std::span<const SlotRange> taken) override;
  bool isFree(Slot slot) const override;
  bool anyFree(std::span<const SlotRange> runs) const override;
  std::int32_t block() const { return m_block; }
  std::int32_t pages() const { return static_cast<std::int32_t>(m_used.size()); }
  /// Takes the first slot of a free page; -1 if there is none.
  Slot takePage();
  /// Takes the slot and returns true if it is free.
  bool takeSlot(Slot slot);
  /// Takes the lowest free slot.
  Slot takeAny();

 private:
  void roomToGive();

  std::int32_t m_block;
  std::vector<bool> m_taken;          // [slots]
  std::vector<std::int32_t> m_used;   // [pages] slots taken
  std::vector<std::int32_t> m_stack;  // pages that may be free, lowest on top
  std::int32_t m_freePages, m_free;   // m_free: slots
};

}  // namespace kvlab
