// SPDX-License-Identifier: Apache-2.0
// The row pools of all layers and the free slots of each. Maps name rows in the pools by slot. The session's timeline
// decides when slots become free. Engine thread.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "core/api/snapshot.h"
#include "core/state/commit_deeds.h"
#include "core/state/fault_door.h"
#include "core/state/map_mirror.h"
#include "core/state/ring_reads.h"
#include "core/state/row_log.h"
#include "core/state/row_pool.h"
#include "core/state/slot_allocator.h"

namespace kvlab {

struct CacheState;

/// The pool of one layer and its slot allocator.
struct LayerPool {
  kernels::RowFormat format;
  std::int32_t slots = 0;
  std::unique_ptr<SlotAllocator> allocator;
  std::int32_t most = 0;  // slots that the pool may come to have
};

class CacheStore {
 public:
  static Result<CacheStore> create(kernels::Backend& backend, std::vector<LayerPool> layers);
  /// Pools like those of `other`, with its rows of these slots, [layers]; see RowPool::like().
  static Result<CacheStore> like(kernels::Backend& backend, const CacheStore& other, std::vector<LayerPool> layers,
                                 const LayerSlots& rows);
  /// Pools of one format with FreeSlots allocators.
  static Result<CacheStore> create(kernels::Backend& backend, int layers, const kernels::RowFormat& format,
                                   std::int32_t slots);

  kernels::Backend& backend() const { return *m_backend; }
  auto layers() const { return idRange<CacheLayer>(0, m_pools.size()); }
  RowPool& pool(CacheLayer layer) { return m_pools[at(layer)]; }
  const RowPool& pool(CacheLayer layer) const { return m_pools[at(layer)]; }
  SlotAllocator& slots(CacheLayer layer) { return *m_slots[at(layer)]; }
  const SlotAllocator& slots(CacheLayer layer) const { return *m_slots[at(layer)]; }

  /// The residency map of a layer group in memory that ops can read; valid until the next call for the group.
  MapMirror::View mirrored(std::size_t group, const ResidencyView& map) {
    return m_mirror.update(*m_backend, group, plain(map.slotOf.span()), map.phases.span(), m_mapRoom);
  }

  /// What copies of rings are made from.
  RingReads& ringReads() { return m_ringReads; }
  const RingReads& ringReads() const { return m_ringReads; }

  /// Conversions of rows since the last call, of layers whose types have scales.
  std::vector<LayerConversions> takeConversions();

  /// Free slots of the layer that has the fewest.
  std::int32_t available(Placing placing = Placing::Scratch) const;
  /// Takes `count` slots in every layer and then `tail` slots behind the rows `after`, [layers]. ahead, [layers]: this
  /// many more slots must be free for later calls. Error (code staging): nothing is taken.
  Result<LayerSlots> reserve(std::int32_t count, FaultDoor& faults, std::int32_t tail = 0,
                             const std::vector<Slot>& after = {}, const std::vector<std::int32_t>& ahead = {});
  /// Takes up to `most` slots in every layer, at least one, for a pass that only looks; release() gives them back.
  /// Errors: staging.
  Result<LayerSlots> lend(std::int64_t most, FaultDoor& faults);
  void release(const LayerSlots& slots);
  /// Records of the passes since the last check.
  CommitDeeds& deeds() { return m_deeds; }
  const CommitDeeds& deeds() const { return m_deeds; }
  /// Rows of the present state that a change takes.
  RowLog& log() { return m_log; }
  /// The log copies rows that lose their slots.
  void keep(const LayerSlots& slots) { m_log.keep(m_pools, slots); }
  /// The log copies rows that the caller is about to overwrite.
  void overwrites(const LayerSlots& slots);
  void overwrites(CacheLayer layer, std::span<const std::int32_t> slots);
  void keepLate() { m_log.keepLate(m_pools); }
  bool putBack() { return m_log.putBack(m_pools); }
  void keep(const LayerSlots& slots, RowLog& log) const { log.keep(m_pools, slots); }
  /// Makes every value in slots that hold no row not-a-number, so that no pass reads one without a trace: in some slots
  /// that were never taken, and with `freed` in all that were given back.
  void poison(bool freed);
  /// Another size of the pool of a layer whose slots have an end; rows stay in their slots. Errors: out_of_memory.
  Status resize(CacheLayer layer, std::int32_t slots);

 private:
  void add(RowPool pool, LayerPool layer);

  kernels::Backend* m_backend = nullptr;
  std::vector<RowPool> m_pools;
  std::vector<std::unique_ptr<SlotAllocator>> m_slots;
  std::int64_t m_mapRoom = 0;  // expected size of maps
  MapMirror m_mirror;
  RingReads m_ringReads;
  RowLog m_log;
  CommitDeeds m_deeds;
};

/// Slots that history holds in the pools beside the present state, for checks.
struct HeldSlots {
  LayerSlots slots = {};                       // [layers] slots that history will give back
  std::vector<const CacheState*> states = {};  // some older states whose rows lie in the pools
};

/// Slots that go back however the work with them ends, unless they are kept: those that a read-only pass borrows, and
/// those on their way to who asked for them, where memory for others may be refused. On the stack.
class LentSlots {
 public:
  LentSlots(CacheStore& store, LayerSlots slots) : m_store(store), m_slots(std::move(slots)) {}
  LentSlots(const LentSlots&) = delete;
  LentSlots& operator=(const LentSlots&) = delete;
  ~LentSlots() { m_store.release(m_slots); }

  const LayerSlots& slots() const { return m_slots; }
  std::vector<Slot>& operator[](std::size_t layer) { return m_slots[layer]; }
  LayerSlots keep() { return std::exchange(m_slots, {}); }

 private:
  CacheStore& m_store;
  LayerSlots m_slots;
};

}  // namespace kvlab
