// SPDX-License-Identifier: Apache-2.0
// Helpers to walk a state that may be damaged: each residency map once per group of layers, only up to its shortest
// column, and only slots inside the pool. Engine thread.
#pragma once
#include <limits>
#include <string>
#include <vector>

#include "core/check/invariant.h"

namespace kvlab {

/// A residency map and the cache layers that share it, ascending, never empty.
struct SharedMap {
  const LayerGroup* group;
  const ResidencyView* map;
  CacheLayers all;  // which name one
  std::vector<CacheLayer> layers = {};

  CacheLayer first() const { return layers.front(); }
  /// Number of rows that every column of the map has.
  std::size_t rows() const;
  /// "layer 3", or "layers 0-21" of a shared map.
  std::string name() const;
  std::string name(CacheLayer one) const { return "layer " + all.name(one); }
};

/// Maps of layers that exist in both the state and the store.
std::vector<SharedMap> sharedMaps(const CheckInput& input);
/// sharedMaps() with every row that has a slot, including rows beside the context.
std::vector<SharedMap> storedMaps(const CheckInput& input);

/// A ledger id as messages name it: "ledger row 17".
std::string rowName(LedgerId id);

/// Rows of a map whose slot lies inside the pool, so that they can be read.
struct RowList {
  std::vector<std::int32_t> slots;
  std::vector<std::uint64_t> tags;   // expected
  std::vector<std::size_t> indices;  // in the map
};

/// Rows whose ledger id modulo `parts` is `part`, and all rows from index `fresh` on.
RowList rowList(const SharedMap& shared, std::int32_t poolSlots, std::int64_t part = 0, std::int64_t parts = 1,
                std::size_t fresh = std::numeric_limits<std::size_t>::max());

}  // namespace kvlab
