// SPDX-License-Identifier: Apache-2.0
// The slots of a ring in the order of its rows, made once and held: a table for each phase, which begins at the phase's
// block of slots and goes on around the end. Tables of neighbouring phases overlap, so all of them are stretches of
// one list of two laps. Immutable; any thread.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/api/ids.h"

namespace kvlab {

class SlotTables {
 public:
  /// block divides slots.
  SlotTables(std::int32_t slots, std::int32_t block) : m_slots(slots), m_block(block) {
    for (std::int32_t i = 0; i < 2 * slots; ++i) m_laps.push_back(i % slots);
  }

  std::int32_t slots() const { return m_slots; }
  /// [2 slots] all tables; each is a stretch of it.
  std::span<const std::int32_t> laps() const { return m_laps; }
  std::int32_t phases() const { return m_slots / m_block; }
  std::int32_t phaseOf(std::int32_t slot) const { return slot / m_block; }
  /// [slots + block]: the slots of a lap and of one block more, for rows that begin inside a block.
  std::span<const std::int32_t> table(std::int32_t phase) const {
    return std::span(m_laps).subspan(at(phase * m_block), at(m_slots + m_block));
  }
  /// The slots of `rows` rows of which the oldest lies in `head`: the end of the phase's table that begins there.
  std::span<const std::int32_t> rows(std::int32_t head, std::size_t rows) const {
    return table(phaseOf(head)).subspan(at(head % m_block), rows);
  }

 private:
  std::int32_t m_slots, m_block;
  std::vector<std::int32_t> m_laps;
};

}  // namespace kvlab
