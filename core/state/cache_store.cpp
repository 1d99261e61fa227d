// SPDX-License-Identifier: Apache-2.0
#include "core/state/cache_store.h"

#include <algorithm>
#include <limits>

namespace kvlab {

Result<CacheStore> CacheStore::create(kernels::Backend& backend, int layers, const kernels::RowFormat& format, std::int32_t slots) {
  CacheStore store;
  store.m_backend = &backend;
  for (int layer = 0; layer < layers; ++layer) {
    Result<RowPool> pool = RowPool::create(backend, format, slots);
    if (!pool) return pool.error();
    store.m_pools.push_back(pool.take());
    store.m_slots.emplace_back(slots);
  }
  return store;
}

std::int32_t CacheStore::available() const {
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (const SlotAllocator& slots : m_slots) least = std::min(least, slots.available());
  return least;
}

Result<LayerSlots> CacheStore::reserve(std::int32_t count, FaultDoor& faults) {
  if (Status passed = faults.pass(FaultPoint::Allocation, "reserving slots"); !passed)
    return passed.error();
  if (available() < count)
    return Error{"staging", "the edit needs more free slots than there are",
                 "needed " + std::to_string(count) + ", free " + std::to_string(available()),
                 "raise staging in the manifest, or make a smaller edit"};
  LayerSlots out;
  for (SlotAllocator& slots : m_slots) out.push_back(slots.take(count));
  return out;
}

void CacheStore::release(const LayerSlots& slots) {
  for (std::size_t layer = 0; layer < slots.size(); ++layer) m_slots[layer].give(slots[layer]);
}

}  // namespace kvlab
