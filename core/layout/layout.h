// SPDX-License-Identifier: Apache-2.0
// A storage layout decides where the rows of a layer lie in its pool. New rows are computed into slots
// that reserve() hands out; settle() then brings pool and map into the layout's form, and a reader may
// be given an assembled copy instead of the pool (assemble()). One file per layout, one line in
// core/api/layouts.inc. Strategies without state: what a layout has to remember lies in the LayerGroup and in the
// layer's SlotAllocator. Engine thread. semantics.md, section 7.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/api/layout_names.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

/// What the pool of one layer is for.
struct LayerDemand {
  std::int32_t capacity = 0;  // rows after a commit
  std::int32_t keep = 0;      // the last so many rows stay, 0 = all: ring.window, or a ring's mask
  std::int32_t room = 0;      // rows computed beside them before a commit
  std::int32_t chunk = 0;     // rows per forward pass: a ring has room for one
  std::int32_t history = 0;   // rows that history may keep
  bool tailOnly = false;      // ring.tail_only

  std::int32_t window() const { return keep ? keep : capacity; }
};

struct LayoutContext {
  CacheStore& store;
  FaultDoor& faults;
};

/// Layers that share a map, while their rows settle.
struct Settling {
  LayerGroup& group;            // its map names the slots that the rows lie in now
  std::span<const int> layers;  // equal slots in each
  bool appended = false;        // nothing but rows behind the last one came since the state before
  bool dropped = false;         // the window has left rows behind
  std::int32_t fresh = 0;       // new rows
  Tick tick;
  std::vector<Slot> left = {}, taken = {};  // slots that rows moved out of and into, beside those reserved
};

struct Compaction {
  std::int64_t rows = 0, bytes = 0;  // moved
  bool done = true;
};

class StorageLayout {
 public:
  virtual ~StorageLayout() = default;
  virtual std::string_view name() const = 0;
  /// True if settle() may overwrite rows that older states name: history then re-executes instead of
  /// restoring, and a failure inside settle() is mended by a rebuild.
  virtual bool inPlace() const = 0;
  /// True if what the layer's mask leaves behind loses its slot without being asked to.
  virtual bool dropsMasked() const { return false; }
  /// Slots of the pool, and who hands them out.
  virtual std::int32_t poolSlots(const LayerDemand& demand) const = 0;
  virtual std::unique_ptr<SlotAllocator> makeSlots(const LayerDemand& demand) const = 0;
  /// State that an empty group starts with.
  virtual void start(LayerGroup&, const LayerDemand&) const {}
  /// Moves rows and rewrites the slots of the group; bytes moved (read and written).
  virtual Result<std::int64_t> settle(Settling& settling, LayoutContext& context) const = 0;
  /// Everything is free except the rows of the group.
  virtual void restart(const LayerGroup& group, SlotAllocator& slots) const {
    slots.restart(group.stored().residentSlots());
  }
  virtual std::optional<PageState> pages(const LayerGroup&, const SlotAllocator&) const { return {}; }
  /// Gets the room of holes back by moving about `most` rows in place; history must hold none of them.
  virtual Result<Compaction> compact(LayerGroup&, std::span<const int>, LayoutContext&, std::int64_t) const {
    return Compaction{};
  }
};

/// From a spec as in a manifest, see layout_names.h. Error (code bad_manifest).
Result<std::unique_ptr<StorageLayout>> makeLayout(std::string_view spec);

}  // namespace kvlab
