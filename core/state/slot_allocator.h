// SPDX-License-Identifier: Apache-2.0
// Hands out free slots of a row pool, lowest fresh one first, last returned one first. Layers that
// evict alike share one allocator, so their residency maps stay one object. Engine thread.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "core/api/ids.h"

namespace kvlab {

class SlotAllocator {
 public:
  explicit SlotAllocator(std::int32_t slots) : m_slots(slots) {}

  std::int32_t available() const {
    return m_slots - m_fresh + static_cast<std::int32_t>(m_returned.size());
  }

  /// What is free: the slots returned, and every slot from fresh() on.
  std::span<const Slot> returned() const { return m_returned; }
  std::int32_t fresh() const { return m_fresh; }
  /// Slots from here on were never handed out.
  std::int32_t untouched() const { return std::max(m_untouched, m_fresh); }

  /// `count` must not exceed available().
  std::vector<Slot> take(std::int32_t count) {
    std::vector<Slot> out;
    out.reserve(static_cast<std::size_t>(count));
    for (; count > 0 && !m_returned.empty(); --count) {
      out.push_back(m_returned.back());
      m_returned.pop_back();
    }
    for (; count > 0; --count) out.push_back(Slot(m_fresh++));
    return out;
  }

  /// In reverse, so that taking again yields the same slots in the same order.
  void give(std::span<const Slot> slots) { m_returned.insert(m_returned.end(), slots.rbegin(), slots.rend()); }

  /// Everything is free except these.
  void restart(std::span<const Slot> taken) {
    std::vector<bool> used;
    for (Slot slot : taken) {
      if (used.size() <= static_cast<std::size_t>(slot.value()))
        used.resize(static_cast<std::size_t>(slot.value()) + 1);
      used[static_cast<std::size_t>(slot.value())] = true;
    }
    restart(static_cast<std::int32_t>(used.size()));
    for (std::int32_t s = m_fresh - 1; s >= 0; --s)
      if (!used[static_cast<std::size_t>(s)]) m_returned.push_back(Slot(s));
  }

  /// Everything is free except the slots 0 .. used-1.
  void restart(std::int32_t used) {
    m_untouched = untouched();
    m_returned.clear();
    m_fresh = used;
  }

 private:
  std::int32_t m_slots;
  std::int32_t m_fresh = 0, m_untouched = 0;
  std::vector<Slot> m_returned;
};

}  // namespace kvlab
