// SPDX-License-Identifier: Apache-2.0
// Helpers to walk a state that may be damaged: each residency map once per group of layers, only up to its shortest
// column, and only slots inside the pool. Engine thread.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/check/checks.h"

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
  /// The place of an index in one of the layers.
  Place placeOf(CacheLayer layer, std::size_t index) const { return placeIn(layer, index, map->ledger); }
};

/// Maps of layers that exist in both the state and the store.
std::vector<SharedMap> sharedMaps(const CheckInput& input);
/// sharedMaps() with every row that has a slot, including rows beside the context.
std::vector<SharedMap> storedMaps(const CheckInput& input);

/// [rows] places of ledger rows in a context; -1 = the row has none.
std::vector<std::int32_t> placesOf(const Column<LedgerId>& context, std::size_t rows);

/// A ledger id as messages name it: "ledger row 17".
std::string rowName(LedgerId id);

/// Rows of a map whose slot lies inside the pool, so that they can be read.
struct RowList {
  std::vector<std::int32_t> slots;
  std::vector<std::uint64_t> tags;   // expected
  std::vector<std::size_t> indices;  // in the map
};

/// Rows whose ledger id modulo `parts` is `part`, and those at the indices `fresh`, which ascend. part < 0: these
/// alone.
RowList rowList(const SharedMap& shared, std::int32_t poolSlots, std::int64_t part = 0, std::int64_t parts = 1,
                std::span<const std::size_t> fresh = {});

// Changes of the last commit, for checks that compare a state with the one before, or look only at new rows.

/// True if the last commit added a token that the model was asked for. `before` is there.
bool generated(const CheckInput& input);

/// True if the last commit carried out a list of actions: rows have come, or some were replaced, deleted or evicted. A
/// state that was loaded is another one.
bool edited(const CheckInput& input);

/// Groups that the layers of a map had in the state that passed; empty where everything is new to the check.
std::vector<const LayerGroup*> passedGroups(const CheckInput& input, const SharedMap& shared);

/// Number of rows with which a map begins that are known without a look at them: the map of the state that passed had
/// no others, and the two share the memory of ledger ids, slots and phases. 0 if that state's context does not stand in
/// front of the present one.
std::size_t knownInFront(const CheckInput& input, const SharedMap& shared);

/// Indices, ascending, of the rows in which a map has something new for a check. The others were rows of the state that
/// passed, in the same order and in the same slots, and no commit has written them since.
std::vector<std::size_t> freshRows(const CheckInput& input, const SharedMap& shared);

}  // namespace kvlab
