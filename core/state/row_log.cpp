// SPDX-License-Identifier: Apache-2.0
#include "core/state/row_log.h"

#include <algorithm>
#include <utility>

#include "core/state/cache_state.h"

namespace kvlab {

std::int64_t KeptRows::bytes() const {
  std::int64_t bytes = 0;
  for (const Rows& rows : layers) bytes += std::ssize(rows.records) + 4 * std::ssize(rows.ids);
  return bytes;
}

void KeptRows::append(KeptRows other) {
  if (layers.empty()) layers = std::move(other.layers);
  for (std::size_t layer = 0; layer < other.layers.size(); ++layer) {
    Rows &to = layers[layer], &from = other.layers[layer];
    std::vector<LedgerId> known = to.ids;
    std::ranges::sort(known);
    const std::ptrdiff_t stride = from.ids.empty() ? 0 : std::ssize(from.records) / std::ssize(from.ids);
    for (std::size_t i = 0; i < from.ids.size(); ++i) {
      if (std::ranges::binary_search(known, from.ids[i])) continue;
      const auto record = from.records.begin() + stride * static_cast<std::ptrdiff_t>(i);
      to.ids.push_back(from.ids[i]);
      to.records.insert(to.records.end(), record, record + stride);
    }
  }
}

void RowLog::begin(const CacheState& state, std::int64_t mostBytes) {
  m_most = mostBytes;
  m_bytes = 0;
  end();
  m_state = &state;
}

void RowLog::keepLate(const std::vector<RowPool>& pools) {
  for (std::size_t layer = 0; layer < m_slots.size(); ++layer)
    if (!m_slots[layer].empty()) pools[layer].readRecords(m_slots[layer], m_kept.layers[layer].records.data());
}

RowLog::Found RowLog::find(std::int32_t group, const std::vector<Slot>& sorted) const {
  Found found;
  const ResidencyView& map = m_state->groups[at(group)].stored();
  const std::size_t rows = std::min(map.ledger.size(), map.slotOf.size());
  for (std::size_t i = at(map.first); i < rows; ++i) {
    if (!std::ranges::binary_search(sorted, map.slotOf[i])) continue;
    found.ids.push_back(map.ledger[i]);
    found.slots.push_back(map.slotOf[i]);
  }
  return found;
}

/// If memory runs out, the rows that were kept before stay.
void RowLog::keep(const std::vector<RowPool>& pools, const LayerSlots& slots) {
  if (!m_state || m_bytes > m_most) return;
  std::int32_t group = -1;  // group of the layer before, which mostly asks for the same rows
  std::vector<Slot> asked;
  std::deque<Found> found;
  std::vector<RecordRead> reads;
  std::vector<const Found*> more(slots.size());  // [layers] rows to keep; null = none
  std::int64_t bytes = m_bytes;
  for (std::size_t layer = 0; layer < slots.size(); ++layer) {
    std::vector<Slot> wanted = slots[layer];
    if (!m_slots.empty()) removeSlots(wanted, m_slots[layer]);
    if (wanted.empty()) continue;
    std::ranges::sort(wanted);
    if (group != m_state->groupOf[layer] || wanted != asked) {
      group = m_state->groupOf[layer];
      asked = std::move(wanted);
      found.push_back(find(group, asked));
    }
    const Found& rows = found.back();
    bytes += std::ssize(rows.ids) * pools[layer].stride();
    if (!rows.ids.empty() && bytes <= m_most)
      reads.push_back(roomFor(layer, slots.size(), *(more[layer] = &rows), pools[layer]));
  }
  if (bytes <= m_most) readRecords(reads);
  m_bytes = bytes;
  if (bytes > m_most) {
    m_kept = {};
    m_slots.clear();
    return;
  }
  for (std::size_t layer = 0; layer < more.size(); ++layer) {
    if (!more[layer]) continue;
    KeptRows::Rows& kept = m_kept.layers[layer];
    kept.ids.insert(kept.ids.end(), more[layer]->ids.begin(), more[layer]->ids.end());
    m_slots[layer].insert(m_slots[layer].end(), more[layer]->slots.begin(), more[layer]->slots.end());
  }
}

/// Takes memory for more rows of a layer; says where their records go.
RecordRead RowLog::roomFor(std::size_t layer, std::size_t layers, const Found& rows, const RowPool& pool) {
  m_kept.layers.resize(layers);
  m_slots.resize(layers);
  KeptRows::Rows& kept = m_kept.layers[layer];
  const std::size_t before = kept.ids.size(), after = before + rows.ids.size(), stride = at(pool.stride());
  kept.records.resize(after * stride);
  kept.ids.reserve(after);
  m_slots[layer].reserve(m_slots[layer].size() + rows.slots.size());
  return {&pool, rows.slots, kept.records.data() + before * stride};
}

bool RowLog::putBack(std::vector<RowPool>& pools) {
  if (!m_overwritten) return true;
  if (m_spoilt || m_bytes > m_most) return false;
  if (const auto back = std::exchange(m_back, nullptr)) back();
  for (std::size_t layer = 0; layer < m_slots.size(); ++layer)
    if (!m_slots[layer].empty()) pools[layer].writeRecords(m_slots[layer], m_kept.layers[layer].records.data());
  begin(*m_state, m_most);
  return true;
}

std::optional<KeptRows> RowLog::take() {
  std::optional<KeptRows> out;
  if (!m_spoilt && m_bytes <= m_most) out = std::move(m_kept);
  m_spoilt = false;
  end();
  return out;
}

}  // namespace kvlab
