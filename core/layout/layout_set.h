// SPDX-License-Identifier: Apache-2.0
// The layouts of all layers of a session. A transaction reserves slots and settles rows through this set.
// Owned by a session; engine thread.
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

  const StorageLayout& layout(int layer) const {
    return *m_layouts[static_cast<std::size_t>(m_of[static_cast<std::size_t>(layer)])];
  }
  const LayerDemand& demand(int layer) const { return m_demands[static_cast<std::size_t>(layer)]; }
  /// Slots of a layer's pool without room for history.
  std::int32_t slotsWithoutHistory(int layer) const;
  bool alike(int a, int b) const;
  std::string names() const;
  /// True if the layout of some layer works in place. History then keeps no older state.
  bool inPlace() const;
  /// Pools and their allocators; `formats` [layers].
  std::vector<LayerPool> pools(const std::vector<kernels::RowFormat>& formats) const;

  /// Reserves slots for `inserted` rows, and then for `tail` rows behind the last row, [layers][rows]. lastLeaves: the
  /// edit removes the last token of the context. more: further rows that must fit before a commit, unless a window
  /// makes room for them.
  Result<LayerSlots> reserve(CacheStore& store, const CacheState& before, std::int32_t inserted, std::int32_t tail,
                             bool lastLeaves, FaultDoor& faults, std::int32_t more = 0) const;
  /// True if slots taken since the last commit hold live rows, because a prompt is longer than the room of a ring.
  /// earlier: slots of uncommitted parts of the same tick.
  static bool overruns(const CacheState& before, const LayerSlots& taken, const LayerSlots* earlier);
  /// Frees the slots of rows outside their window; added and freed as in settle().
  void drop(CacheState& state, LayerSlots& added, LayerSlots& freed, CacheStore& store) const;
  /// Settles every group of `state` after `rows` new rows, appended or not; returns bytes moved. added and freed: the
  /// slots that the state has gained and lost since the state before.
  Result<std::int64_t> settle(CacheState& state, bool appended, std::int32_t rows, LayerSlots& added, LayerSlots& freed,
                              LayoutContext& context) const;
  /// Gives back reserved slots that no state names. In-place layouts have already counted them.
  void release(CacheStore& store, const LayerSlots& slots) const;
  /// Restores the slots of in-place layouts to those of `state`, after a failed change.
  void backTo(CacheStore& store, const CacheState& state) const;
  /// Frees every slot but those of the rows of `state`.
  void restart(CacheStore& store, const CacheState& state) const;
  /// Makes the groups of an empty cache: equal layers share one group. windows: [layers] of the masks.
  void start(CacheState& state, const std::vector<std::int32_t>& windows) const;

 private:
  std::vector<std::unique_ptr<StorageLayout>> m_layouts;  // distinct specs
  std::vector<int> m_of;                                  // [layers]
  std::vector<LayerDemand> m_demands;                     // [layers]
};

/// Layers of each group of a state, ascending.
std::vector<std::vector<int>> layersOf(const CacheState& state);

}  // namespace kvlab
