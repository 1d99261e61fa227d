// SPDX-License-Identifier: Apache-2.0
// A storage layout decides where rows lie in the pools. New rows are always computed into free slots
// through the residency map; settle() then brings pools and maps into the layout's form. One file
// per layout, one line in layouts.inc. Owned by a session; engine thread.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

struct LayoutContext {
  CacheStore& store;
  FaultDoor& faults;
};

class StorageLayout {
 public:
  virtual ~StorageLayout() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view help() const = 0;
  /// True if settle() may overwrite rows that older states name: history then re-executes instead of
  /// restoring, and a failure inside settle() is mended by a rebuild.
  virtual bool inPlace() const = 0;
  /// Moves rows and rewrites the slots of `state`; bytes moved (read and written). `freed` names the
  /// slots that the state before used and this one does not; in-place layouts clear it.
  virtual Result<std::int64_t> settle(CacheState& state, LayerSlots& freed, LayoutContext& context) = 0;
};

struct LayoutInfo {
  std::string_view name, help;
  std::unique_ptr<StorageLayout> (*make)();
};
std::span<const LayoutInfo> layouts();
/// Error (code bad_manifest) for an unknown name.
Result<std::unique_ptr<StorageLayout>> makeLayout(std::string_view name);

}  // namespace kvlab
