// SPDX-License-Identifier: Apache-2.0
// A forward pass of rows of a wLOD session: tokens and gists, each over the rows that its coverage names. Full and
// incremental recomputation, appends and summaries all use this function, so a row always has the same bits. Engine
// thread.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "core/api/progress.h"
#include "core/edit/compute_rows.h"
#include "core/kinds/wlod/edit/wlod_seen.h"

namespace kvlab {

/// All rows of the pass stand in `state`.
struct WlodJob {
  const WlodState& state;
  std::span<const Column<Slot>> slots = {};   // [cache layers][rows of the state]: where rows are and go, -1 = nowhere
  std::span<const MissingRows> missing = {};  // [cache layers] rows whose slots only their own queries read; or empty
  std::vector<int> windows = {};              // [cache layers] phases that the mask lets through; 0 = all
  std::function<TokenId(LedgerId)> tokenOf = {};
  std::int32_t from = 0;                // rows [from, number of rows) are computed
  std::vector<std::int32_t> rows = {};  // compute only these rows, ascending; empty = all
  int layers = 0;                       // number of first layers of the model to run; 0 = all
  int perLayer = 1;                     // cache layers in one of them
  std::vector<bool> keepsLayer0 = {};   // [rows - from] rows whose layer 0 is already valid; empty = none
  Wanted wanted = {};                   // `newest` means the last entry
  LedgerId sumsFrom = LedgerId(0);      // queries of tokens from this ledger id on count in sums over queries
  /// Null: rows are written to their slots. Else nothing is written but K and V of rows that a layer does not hold:
  /// [cache layers] slots for these, which every chunk uses again.
  const LayerSlots* scratch = nullptr;
};

/// Lists of attention are by row of the state, [.., rows]; `newest` ones are those of the last entry.
struct WlodResult : RowsBrought {
  std::int64_t rows = 0, bytes = 0;  // number of computed rows; bytes of K/V written
  std::int64_t pairs = 0;            // rows attended to, summed over the queries, in one layer
};

/// `progress` is called per chunk with the rows done; returning false cancels (error code cancelled).
Result<WlodResult> computeWlodRows(Transformer& transformer, CacheStore& store, FaultDoor& faults, const WlodJob& job,
                                   const Progress& progress = {});

}  // namespace kvlab
