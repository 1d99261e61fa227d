// SPDX-License-Identifier: Apache-2.0
// Slots that a read-only pass borrows: they go back however the pass ends. On the stack; engine thread.
#pragma once
#include "core/state/cache_store.h"

namespace kvlab {

class LentSlots {
 public:
  /// slots: as CacheStore::lend() gives them.
  LentSlots(CacheStore& store, LayerSlots slots) : m_store(store), m_slots(std::move(slots)) {}
  LentSlots(const LentSlots&) = delete;
  LentSlots& operator=(const LentSlots&) = delete;
  ~LentSlots() { m_store.release(m_slots); }

  const LayerSlots& slots() const { return m_slots; }

 private:
  CacheStore& m_store;
  LayerSlots m_slots;
};

}  // namespace kvlab
