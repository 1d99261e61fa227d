// SPDX-License-Identifier: Apache-2.0
// A storage layout decides where the rows of a layer lie in its pool. A pass computes new rows into free slots of the
// layer's SlotAllocator; settle() then brings pool and map into the layout's form. A group's ReadPath says whether
// attention reads the pool itself or an assembled copy (core/edit/assembly.h). One line per layout in
// core/api/layouts.inc. A layout is stateless: its data lies in the LayerGroup and in the SlotAllocator. Engine thread.
// semantics.md, section 7.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/api/layout_names.h"
#include "core/layout/row_mover.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

/// The number of rows that the pool of one layer must hold, by purpose.
struct LayerDemand {
  std::int32_t capacity = 0;  // rows after a commit
  std::int32_t keep = 0;      // newest rows that a ring keeps, 0 = all
  std::int32_t room = 0;      // rows that a pass computes beside these before a commit
  std::int32_t chunk = 0;     // rows per forward pass
  std::int32_t block = 1;     // tokens that one commit adds
  std::int32_t history = 0;   // rows that history may keep
  bool tailOnly = false;      // ring.tail_only
  std::int32_t rows = 0;      // rows of the capacity that the pool has slots for now, 0 = all; rings have all

  std::int32_t pooled() const { return rows ? rows : capacity; }
  std::int32_t window() const { return keep ? keep : capacity; }
};

struct LayoutContext {
  CacheStore& store;
  FaultDoor& faults;
};

/// Cache layers that share a map, while their rows settle.
struct Settling {
  LayerGroup& group;                   // its map names the slots that the rows lie in now
  std::span<const CacheLayer> layers;  // all have the same slots
  bool appended = false;               // rows were only appended since the previous state
  std::int32_t fresh = 0;              // new rows
  Tick tick;
  std::vector<Slot> left = {}, taken = {};  // slots that rows moved out of and into, without reserved slots
  std::vector<ReadyMoves> moves = {};       // [layers] or none: moves of in-place layouts, made when all are ready
  std::span<const Slot> loose = {};         // slots of new rows, if these are to lie at the front of the pool
};

struct Compaction {
  std::int64_t rows = 0, bytes = 0;  // moved
  bool done = true;
};

class StorageLayout {
 public:
  virtual ~StorageLayout() = default;
  virtual std::string_view name() const = 0;
  /// True if settle() may overwrite rows that older states name. History then keeps such rows apart from the pools, and
  /// a rebuild repairs a failure inside settle().
  virtual bool inPlace() const = 0;
  /// True if rows that the layer's window has left behind lose their slots by themselves.
  virtual bool dropsMasked() const { return false; }
  /// The number of slots of the pool, and the allocator that hands them out.
  virtual std::int32_t poolSlots(const LayerDemand& demand) const = 0;
  virtual std::unique_ptr<SlotAllocator> makeSlots(const LayerDemand& demand) const = 0;
  /// Sets the state that an empty group starts with.
  virtual void start(LayerGroup&, const LayerDemand&) const {}
  /// Moves rows, or says which moves are to be made, and rewrites the slots of the group; bytes moved (read and
  /// written).
  virtual Result<std::int64_t> settle(Settling& settling, LayoutContext& context) const = 0;
  /// Frees every slot but those of the group's rows.
  virtual void restart(const LayerGroup& group, SlotAllocator& slots) const {
    slots.restart(runsOf(group.stored().residentSlots()));
  }
  /// Called when a window has excluded rows of an in-place layer and rows have not settled yet.
  virtual void dropped(SlotAllocator&, std::int32_t /*rows*/) const {}
  virtual std::optional<PageState> pages(const LayerGroup&, const SlotAllocator&) const { return {}; }
  /// Fills holes by moving about `most` rows in place; no older state may name these rows.
  virtual Result<Compaction> compact(LayerGroup&, std::span<const CacheLayer>, LayoutContext&, std::int64_t) const {
    return Compaction{};
  }
};

/// Makes a layout from its spec in a manifest, see layout_names.h. Errors: bad_manifest.
Result<std::unique_ptr<StorageLayout>> makeLayout(std::string_view spec);

}  // namespace kvlab
