// SPDX-License-Identifier: Apache-2.0
#include "core/state/slot_tables.h"

#include "core/api/ids.h"

namespace kvlab {

SlotTables::SlotTables(std::int32_t slots, std::int32_t block) : m_slots(slots), m_block(block) {
  m_laps.reserve(at(2 * slots));
  for (std::int32_t i = 0; i < 2 * slots; ++i) m_laps.push_back(i % slots);
}

std::span<const std::int32_t> SlotTables::table(std::int32_t phase) const {
  return std::span(m_laps).subspan(at(phase * m_block), at(m_slots + m_block));
}

std::span<const std::int32_t> SlotTables::rows(std::int32_t head, std::size_t rows) const {
  return table(phaseOf(head)).subspan(at(head % m_block), rows);
}

}  // namespace kvlab
