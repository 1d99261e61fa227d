// SPDX-License-Identifier: GPL-3.0-or-later
// Layers that are stored alike, shown once; and where their rows lie. Pure functions of a snapshot;
// any thread.
#pragma once
#include <QString>
#include <memory>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

struct StorageGroup {
  std::vector<CacheLayer> layers;  // ascending
  std::shared_ptr<const StorageView> storage;
  std::shared_ptr<const ResidencyView> map;  // of each of them
  CacheLayers all = {};                      // how layers are named

  /// "layer 3", "layers 0–11", "layers 0–2, 5".
  QString name() const;
  bool has(CacheLayer layer) const;
};

/// Groups in the order of their first layers; empty where a snapshot says nothing of storage.
std::vector<StorageGroup> storageGroups(const Snapshot& snapshot);
/// The group of a layer, null if there is none.
const StorageGroup* groupOf(const std::vector<StorageGroup>& groups, CacheLayer layer);

/// Context position of each resident row, oldest first; -1 for a row that is in no position. [resident]
std::vector<std::int32_t> positionsOf(const Snapshot& snapshot, const ResidencyView& map);

/// True if the layer counts the row but its window has left it behind, so that it has no slot.
bool leftThroughWindow(const Snapshot& snapshot, CacheLayer layer, LedgerId row);

}  // namespace kvlab
