// SPDX-License-Identifier: Apache-2.0
// The layouts of all cache layers of a session, which [layers] counts. A transaction reserves slots and settles rows
// through this set. Owned by a session; engine thread.
#pragma once
#include "core/layout/layout.h"

namespace kvlab {

class LayoutSet {
 public:
  LayoutSet() = default;
  /// specs: [layers] as in the manifest; demands: [layers] what each pool must hold.
  static Result<LayoutSet> make(const std::vector<std::string>& specs, std::vector<LayerDemand> demands);
  /// One layout for all layers.
  static LayoutSet of(const LayoutName& info, int layers, const LayerDemand& demand);

  const StorageLayout& layout(CacheLayer layer) const { return *m_layouts[at(m_of[at(layer)])]; }
  const LayerDemand& demand(CacheLayer layer) const { return m_demands[at(layer)]; }
  /// Slots that the pool of a layer has besides room for history, or would have with so many rows, see
  /// LayerDemand::rows.
  std::int32_t slotsWithoutHistory(CacheLayer layer) const { return slotsWithoutHistory(layer, demand(layer).rows); }
  std::int32_t slotsWithoutHistory(CacheLayer layer, std::int32_t rows) const;
  /// Pools for so many rows of each layer, [cache layers], with all rows in their slots; false where that cannot be.
  Result<bool> resize(CacheStore& store, const std::vector<std::int32_t>& rows);
  bool alike(CacheLayer a, CacheLayer b) const;
  std::string names() const;
  /// True if the layout of some layer works in place. History then keeps the rows of older states apart from the pools.
  bool inPlace() const;
  /// Pools and their allocators; `formats` [layers].
  std::vector<LayerPool> pools(const std::vector<kernels::RowFormat>& formats) const;

  /// Reserves slots for `inserted` rows, and then for `tail` rows behind the last row, [layers][rows]. lastLeaves: the
  /// edit removes the last token of the context. more: further rows that must fit before a commit, unless a window
  /// makes room for them.
  Result<LayerSlots> reserve(CacheStore& store, const CacheState& before, std::int32_t inserted, std::int32_t tail,
                             bool lastLeaves, FaultDoor& faults, std::int32_t more = 0) const;
  /// True if slots that were taken since the last commit hold live rows: a prompt is longer than the room of a ring.
  /// earlier: slots of parts that wait for the commit. looks: a read-only pass over waiting rows needs a slot, too.
  static bool overruns(const CacheState& before, const LayerSlots& taken, const LayerSlots* earlier, bool looks);
  /// Rows that windows have left behind lose their slots; added and freed as in settle(), looks as in overruns().
  void drop(CacheState& state, LayerSlots& added, LayerSlots& freed, CacheStore& store, bool looks) const;
  /// Settles every group of `state` after `rows` new rows, appended or not; returns bytes moved. added and freed: the
  /// slots that the state has gained and lost since the state before. toFront: most new rows have left already, and
  /// those that stay are to lie where a smaller pool has room for them.
  Result<std::int64_t> settle(CacheState& state, bool appended, std::int32_t rows, LayerSlots& added, LayerSlots& freed,
                              LayoutContext& context, bool toFront = false) const;
  /// Fills holes in every group by moving about `most` rows of each; no older state may name these rows.
  Result<Compaction> compact(CacheState& state, std::int64_t most, LayoutContext& context) const;
  /// Gives back reserved slots that no state names, and `added` loses them. In-place layouts have already counted them.
  void release(CacheStore& store, const LayerSlots& unused, LayerSlots& added) const;
  /// Restores the slots of in-place layouts to those of `state`, after a pass that only looked.
  void backTo(CacheStore& store, const CacheState& state) const;
  /// Slots that a state needs, [layers]: slots of its rows, and of the rows that a rollback of its draft leads to.
  /// If layouts work in place, a rollback needs no slots.
  LayerSlots heldBy(const CacheState& state) const;
  /// Frees every slot but those that `state` needs.
  void restart(CacheStore& store, const CacheState& state) const;
  /// Frees every slot but `held`, [layers].
  void restart(CacheStore& store, const CacheState& state, const LayerSlots& held) const;
  /// Makes the groups of an empty cache: equal layers share one group. windows: [layers] of the masks.
  void start(CacheState& state, const std::vector<std::int32_t>& windows) const;

 private:
  auto layers() const { return idRange<CacheLayer>(0, m_of.size()); }

  std::vector<std::shared_ptr<const StorageLayout>> m_layouts;  // distinct specs
  std::vector<int> m_of;                                        // [layers]
  std::vector<LayerDemand> m_demands;                           // [layers]
};

/// Slots of the rows of `state`, in logical order, [layers].
LayerSlots slotsOf(const CacheState& state);

/// Slots of the rows of `state` in which `other` has no row, [layers].
LayerSlots slotsBeside(const CacheState& state, const CacheState& other);

/// Cache layers of each group of a state, ascending.
std::vector<std::vector<CacheLayer>> layersOf(const CacheState& state);

}  // namespace kvlab
