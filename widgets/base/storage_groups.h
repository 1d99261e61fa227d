// SPDX-License-Identifier: GPL-3.0-or-later
// Groups of layers with equal storage, and the positions of their rows. Pure functions of a snapshot; any thread.
#pragma once
#include <QString>
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

struct StorageGroup {
  std::vector<CacheLayer> layers;  // ascending
  std::shared_ptr<const StorageView> storage;
  std::shared_ptr<const ResidencyView> map;  // shared by the layers
  CacheLayers all = {};                      // for layer names

  /// "layer 3", "layers 0–11", "layers 0–2, 5".
  QString name() const;
  bool has(CacheLayer layer) const;
};

/// Groups in order of their first layers; empty if the snapshot has no storage report.
std::vector<StorageGroup> storageGroups(const Snapshot& snapshot);
/// The group of a layer, null if there is none.
const StorageGroup* groupOf(const std::vector<StorageGroup>& groups, CacheLayer layer);

/// Memory of rows, the same words in every view: live rows, the room that is allocated at capacity, and the addresses
/// that are reserved, room for older states included.
QString rowMemoryText(const Snapshot& snapshot);
/// The memory of the whole program, in words; empty for 0.
QString programMemoryText(qint64 bytes);

/// Position of a row in the context, -1 if the row is not there. Looks at `guess` first.
inline int placeIn(const Snapshot& s, LedgerId id, int guess) {
  if (id.value() < 0) return -1;
  if (guess >= 0 && guess < s.length() && s.context[at(guess)] == id) return guess;
  const auto found = std::find(s.context.begin(), s.context.end(), id);
  return found == s.context.end() ? -1 : static_cast<int>(found - s.context.begin());
}

/// Context position of each resident row, oldest first; -1 for a row outside the context. [resident]
std::vector<std::int32_t> positionsOf(const Snapshot& snapshot, const ResidencyView& map);
/// The row of such a list at a context position; -1 = none.
int rowAt(const std::vector<std::int32_t>& positions, Position position);

/// True if the layer counts the row, but the row has left the window and has no slot.
bool leftThroughWindow(const Snapshot& snapshot, CacheLayer layer, LedgerId row);
/// True if the layer has the row in a slot.
bool isResident(const Snapshot& snapshot, CacheLayer layer, LedgerId row);
/// The reason why a row has no value of `quantity`, in a layer or in any layer. A value that is not kept is not called
/// absent.
QString noValueText(const Snapshot& snapshot, LedgerId row, std::optional<CacheLayer> layer, const QString& quantity);

}  // namespace kvlab
