// SPDX-License-Identifier: Apache-2.0
#include "core/state/ring_reads.h"

#include <algorithm>
#include <numeric>

namespace kvlab {
namespace {

constexpr std::size_t kLeastRamp = 256;

/// A copy of a resident list at an address that is the same in every pass, so that recorded calls can read it.
void copyInside(kernels::Backend& backend, const std::int32_t* from, std::int32_t* to, std::int64_t count) {
  static_assert(sizeof(std::int32_t) == sizeof(float));  // a plain copy looks at no value
  backend.ops().convert(backend.context(), {from, kernels::DType::f32, to, kernels::DType::f32, count});
}

}  // namespace

bool RingReads::inOrder(std::size_t group, const ResidencyView& map, std::int32_t first, std::int32_t last,
                        std::int32_t slots) {
  if (first >= last || at(last) > map.size()) return false;
  if (m_known.size() <= group) m_known.resize(group + 1);
  Known& known = m_known[group];
  // Values of a buffer never change, and a map that grows by appending keeps its buffer.
  if (known.slots.data() != map.slotOf.data() || known.lap != slots || first < known.begin || first >= known.end) {
    const std::int32_t head = map.slotOf[at(first)].value();
    if (head < 0 || head >= slots) return false;
    known = {map.slotOf, slots, first, first + 1};
  }
  while (known.end < last && map.slotOf[at(known.end)].value() == (map.slotOf[at(known.end - 1)].value() + 1) % slots)
    ++known.end;
  return known.end >= last;
}

RingReads::Rows RingReads::rows(kernels::Backend& backend, kernels::Staging& staging,
                                const std::shared_ptr<const SlotTables>& tables, std::int32_t head, std::int32_t rows) {
  const Held& list = held(backend, tables);
  const std::span<const std::int32_t> slots = tables->rows(head, at(rows));
  if (backend.onHost()) return {slots.data(), list.tags.data()};
  auto* const copy = staging.temporary<std::int32_t>(slots.size());
  if (list.placed.data() && copy)
    copyInside(backend, list.placed.data() + (slots.data() - tables->laps().data()), copy, rows);
  return {copy, list.placedTags.data()};
}

const std::int32_t* RingReads::places(kernels::Backend& backend, std::int32_t rows) {
  const Ramp& list = ramp(backend, 0, at(rows));
  if (backend.onHost()) return list.values.data() + list.zeros;
  return list.placed.data() ? list.placed.data() + list.zeros : nullptr;
}

const std::int32_t* RingReads::placesFrom(kernels::Backend& backend, kernels::Staging& staging, std::int32_t first,
                                          std::int32_t last, std::int64_t count) {
  if (backend.onHost()) {
    const Ramp& list = ramp(backend, at(first), at(count) - at(first));
    return list.values.data() + (list.zeros - at(first));
  }
  const std::int32_t* const from = places(backend, last - first);
  auto* const copy = staging.temporary<std::int32_t>(at(count));
  if (!from || !copy) return copy;
  backend.clear(copy, 4 * count);
  copyInside(backend, from, copy + first, last - first);
  return copy;
}

CopyCounts& RingReads::counts(CacheLayer layer) {
  if (m_counts.size() <= at(layer)) m_counts.resize(at(layer) + 1);
  return m_counts[at(layer)];
}

/// A ramp grows to twice of what is asked, so all that there ever were take no more memory than the last one.
const RingReads::Ramp& RingReads::ramp(kernels::Backend& backend, std::size_t zeros, std::size_t rows) {
  const std::size_t front = m_ramps.empty() ? 0 : m_ramps.back().zeros,
                    behind = m_ramps.empty() ? 0 : m_ramps.back().values.size() - front;
  if (!m_ramps.empty() && zeros <= front && rows <= behind) return m_ramps.back();
  Ramp& made = m_ramps.emplace_back();
  made.zeros = zeros > front ? std::max(kLeastRamp, 2 * zeros) : front;
  made.values.resize(made.zeros + (rows > behind ? std::max(kLeastRamp, 2 * rows) : behind));
  std::iota(made.values.begin() + static_cast<std::ptrdiff_t>(made.zeros), made.values.end(), 0);
  if (!backend.onHost()) made.placed.assign(backend, made.values);
  return made;
}

const RingReads::Held& RingReads::held(kernels::Backend& backend, const std::shared_ptr<const SlotTables>& tables) {
  const auto found = std::ranges::find(m_held, tables, &Held::tables);
  if (found != m_held.end()) return *found;
  std::erase_if(m_held, [](const Held& one) { return one.tables.use_count() == 1; });  // no state has it any more
  Held& made = m_held.emplace_back();
  made.tables = tables;
  made.tags.resize(at(tables->slots()));
  if (backend.onHost()) return made;
  made.placed.assign(backend, tables->laps());
  made.placedTags.assign(backend, made.tags);
  return made;
}

}  // namespace kvlab
