// SPDX-License-Identifier: Apache-2.0
// Checks walk a state that may be damaged: each residency map once per group of layers, never past the shortest
// of its columns, and only slots that the pool has. Engine thread.
#pragma once
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
  /// Rows that every column of the map has.
  std::size_t rows() const;
  /// "layer 3", or "layers 0-21" of a shared map.
  std::string name() const;
  std::string name(CacheLayer one) const { return "layer " + all.name(one); }
};

/// Maps of layers that the state and the store both have.
std::vector<SharedMap> sharedMaps(const CheckInput& input);
/// The same with every row that has a slot, which adds the summaries of a wLOD session.
std::vector<SharedMap> storedMaps(const CheckInput& input);

/// A ledger id as it stands in messages: "ledger row 17".
std::string rowName(LedgerId id);

/// Rows of a map that can be read from a layer's pool: those with a slot inside the pool.
struct RowList {
  std::vector<std::int32_t> slots;
  std::vector<std::uint64_t> tags;   // expected
  std::vector<std::size_t> indices;  // in the map
};

/// Rows whose ledger id leaves `part` when divided by `parts`.
RowList rowList(const SharedMap& shared, std::int32_t poolSlots, std::int64_t part = 0, std::int64_t parts = 1);

}  // namespace kvlab
