// SPDX-License-Identifier: Apache-2.0
// A forward pass of chosen rows over given maps: writes K and V into the rows' slots and returns the next logits and
// the newest query's attention. Prefill, decode, edits, recomputation and read-only query passes all use computeRows().
// Engine thread.
#pragma once
#include <functional>
#include <vector>

#include "core/api/progress.h"
#include "core/edit/row_driver.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

struct RowsJob {
  Column<LedgerId> context;           // order of the maps' rows
  Column<std::uint64_t> contextSums;  // prefix sums of `context`; extended here
  std::vector<LayerGroup> groups;     // maps name the slots to write; their sums are extended here
  std::vector<std::int32_t> groupOf;  // [cache layers]
  std::vector<RowTarget> rows;        // ascending position
  /// [cache layers][rows] slots for rows that a map lacks; null = no map lacks a row. Without `write` the lists may be
  /// shorter, and every chunk reuses their slots.
  const LayerSlots* scratch = nullptr;
  bool cachePhases = false;  // position mode cache: phase of such a row = its index
  bool write = true;         // false: rows that are in a map are read and not written
  int layers = 0;            // compute only the model's first `layers`; 0 = all
  Wanted wanted;
  bool guards = false;         // check the tags of assembled copies, row by row
  bool embeddingOnly = false;  // project the raw embedding in every layer, no attention, no logits

  auto cacheLayers() const { return idRange<CacheLayer>(0, groupOf.size()); }  // also those behind `layers`
};

struct RowsResult : RowsBrought {
  std::vector<std::vector<Provenance>> provenance = {};  // [groups][rows]
  std::int64_t bytes = 0;                                // bytes of K/V written
  std::vector<RingRead> reads = {};                      // copies for the last rows, one for each group of layers
};

/// What the last queries of a context have seen: receivedPerHead and moments.
struct Observation : RowsBrought {
  std::int32_t queries = 0;
};

/// A pass that looks: rows of the context run once more over the present rows, and nothing is written.
struct QueryPass {
  std::vector<std::int32_t> positions;  // in the context, ascending; at least one
  Wanted wanted;
  int layers = 0;  // run only the model's first `layers`; 0 = all
  Progress progress = {};
};

/// `progress` is called per chunk with the rows done; returning false cancels (error code cancelled).
Result<RowsResult> computeRows(Transformer& transformer, CacheStore& store, FaultDoor& faults, RowsJob job,
                               const Progress& progress = {});

/// Relative L2 deviation of each row's V at layer 1 between the stored value and the value over the job's maps
/// (criterion of CacheBlend, Yao et al. 2024). The rows must be resident in layers 0 and 1. Writes nothing.
Result<std::vector<double>> deviations(Transformer& transformer, CacheStore& store, FaultDoor& faults, RowsJob job);

}  // namespace kvlab
