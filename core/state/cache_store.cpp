// SPDX-License-Identifier: Apache-2.0
#include "core/state/cache_store.h"

#include <algorithm>
#include <limits>

namespace kvlab {
namespace {

Error noRoom(std::int32_t needed, std::int32_t free) {
  return {"staging", "the edit needs more free slots than there are",
          "needed " + std::to_string(needed) + ", free " + std::to_string(free),
          "raise staging in the manifest, make a smaller edit, or compact pages"};
}

}  // namespace

Result<CacheStore> CacheStore::create(kernels::Backend& backend, std::vector<LayerPool> layers) {
  CacheStore store;
  store.m_backend = &backend;
  for (LayerPool& layer : layers) {
    RowPool pool = KV_TRY(RowPool::create(backend, layer.format, layer.slots, layer.most));
    store.add(std::move(pool), std::move(layer));
  }
  return store;
}

Result<CacheStore> CacheStore::like(kernels::Backend& backend, const CacheStore& other, std::vector<LayerPool> layers,
                                    const LayerSlots& rows) {
  CacheStore store;
  store.m_backend = &backend;
  for (const CacheLayer layer : other.layers()) {
    RowPool pool = KV_TRY(RowPool::like(backend, other.pool(layer), rows[at(layer)]));
    store.add(std::move(pool), std::move(layers[at(layer)]));
  }
  return store;
}

void CacheStore::add(RowPool pool, LayerPool layer) {
  m_pools.push_back(std::move(pool));
  m_slots.push_back(std::move(layer.allocator));
  m_mapRoom = std::max<std::int64_t>(m_mapRoom, layer.slots);
}

Result<CacheStore> CacheStore::create(kernels::Backend& backend, int layers, const kernels::RowFormat& format,
                                      std::int32_t slots) {
  std::vector<LayerPool> pools;
  for (int layer = 0; layer < layers; ++layer) pools.push_back({format, slots, std::make_unique<FreeSlots>(slots)});
  return create(backend, std::move(pools));
}

std::vector<LayerConversions> CacheStore::takeConversions() {
  std::vector<LayerConversions> out;
  for (const CacheLayer layer : layers()) {
    if (!pool(layer).stats()) continue;
    const CountedRows counted = pool(layer).takeCounts();
    const auto valuesOf = [&](kernels::DType type) {
      return kernels::dtypeHasScale(type) ? counted.rows * pool(layer).width() : 0;
    };
    const kernels::RowFormat& format = pool(layer).format();
    out.push_back({layer, conversionsOf(counted.stats.k, valuesOf(format.k)),
                   conversionsOf(counted.stats.v, valuesOf(format.v))});
  }
  return out;
}

std::int32_t CacheStore::available(Placing placing) const {
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (const auto& slots : m_slots) least = std::min(least, slots->available(placing));
  return least;
}

Result<LayerSlots> CacheStore::reserve(std::int32_t count, FaultDoor& faults, std::int32_t tail,
                                       const std::vector<Slot>& after, const std::vector<std::int32_t>& ahead) {
  if (Status passed = faults.pass(FaultPoint::Allocation, "reserving slots"); !passed) return passed.error();
  const auto behind = [&](std::size_t layer) { return after.empty() ? Slot(-1) : after[layer]; };
  bool fits = true;
  for (std::size_t layer = 0; layer < m_slots.size(); ++layer)
    fits = fits && m_slots[layer]->fits(count, tail + (ahead.empty() ? 0 : ahead[layer]), behind(layer));
  if (!fits) return noRoom(count + tail, available(count ? Placing::Scratch : Placing::Tail));
  LentSlots out(*this, LayerSlots(m_slots.size()));
  LayerSlots over(m_slots.size());
  bool again = false, overruns = false;  // a prompt is longer than a ring's room
  for (std::size_t layer = 0; layer < m_slots.size(); ++layer) {
    const std::int32_t untouched = m_slots[layer]->untouched();
    const bool overrun = m_slots[layer]->available() < count + tail;
    out[layer].reserve(static_cast<std::size_t>(count + tail));
    m_slots[layer]->take(count, out[layer]);
    m_slots[layer]->take(tail, out[layer], Placing::Tail, behind(layer));
    again = again || std::ranges::any_of(out[layer], [&](Slot slot) { return slot.value() < untouched; });
    if (overrun) over[layer] = out[layer];
    overruns = overruns || overrun;
  }
  if (overruns) overwrites(over);
  if (again) m_backend->settle();  // a running op may still read the slot's old row
  return out.keep();
}

Result<LayerSlots> CacheStore::lend(std::int64_t most, FaultDoor& faults) {
  KV_TRY(faults.pass(FaultPoint::Allocation, "reserving slots"));
  const std::int32_t free = available(Placing::Look);
  if (free < 1) return noRoom(1, free);
  const auto count = static_cast<std::int32_t>(std::min<std::int64_t>(free, most));
  LentSlots out(*this, LayerSlots(m_slots.size()));
  for (std::size_t layer = 0; layer < m_slots.size(); ++layer)
    m_slots[layer]->take(count, out[layer], Placing::Look, Slot(-1));
  m_backend->settle();  // a running op may still read the slot's old row
  return out.keep();
}

Status CacheStore::resize(CacheLayer layer, std::int32_t slots) {
  SlotAllocator& own = this->slots(layer);
  KV_TRY(pool(layer).resize(slots, *own.end()));
  own.resize(slots);
  m_deeds.resize();
  return ok();
}

void CacheStore::overwrites(const LayerSlots& slots) {
  keep(slots);
  m_log.overwrites();
}

void CacheStore::overwrites(CacheLayer layer, std::span<const std::int32_t> slots) {
  LayerSlots all(m_pools.size());
  for (const std::int32_t slot : slots) all[at(layer)].emplace_back(slot);
  overwrites(all);
}

void CacheStore::poison(bool freed) {
  constexpr std::int32_t kAhead = 64;  // most never-taken slots to poison
  for (const CacheLayer layer : layers()) {
    const SlotAllocator& own = slots(layer);
    RowPool& rows = pool(layer);
    std::vector<Slot> empty;
    for (std::int32_t slot = freed ? 0 : own.untouched(); slot < std::min(rows.slots(), own.untouched() + kAhead);
         ++slot)
      if (own.isFree(Slot(slot))) empty.emplace_back(slot);
    rows.writeRecords(empty, std::vector<std::uint8_t>(empty.size() * at(rows.stride()), 0xFF).data());
  }
}

void CacheStore::release(const LayerSlots& slots) {
  for (std::size_t layer = 0; layer < slots.size(); ++layer) m_slots[layer]->give(slots[layer]);
}

}  // namespace kvlab
