// SPDX-License-Identifier: Apache-2.0
// A true forward pass of chosen rows over the maps it is given: K and V into the rows' slots, the
// next logits and the newest query's attention out. Prefill, decode, edits, recomputation and the
// read-only query pass are all this one function over the driver of rows. Engine thread.
#pragma once
#include <functional>
#include <vector>

#include "core/api/progress.h"
#include "core/edit/row_driver.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

struct RowsJob {
  Column<LedgerId> context;             // the order the maps are subsets of
  Column<std::uint64_t> contextSums;    // of it; extended here
  std::vector<LayerGroup> groups;       // maps name the slots to write; sums are extended here
  std::vector<std::int32_t> groupOf;    // [cache layers]
  std::vector<RowTarget> rows;          // ascending position
  const LayerSlots* scratch = nullptr;  // [cache layers][rows]: slots for rows that a map lacks; null: none does. Where
                                        // nothing is written there may be fewer, which serve chunk after chunk
  bool cachePhases = false;             // position mode cache: such a row's phase is its index
  bool write = true;                    // false: rows that are in a map are read, not written
  int layers = 0;                       // the model's first so many; 0 = all
  Wanted wanted;
  bool guards = false;         // copies that attention reads are checked, row by row
  bool embeddingOnly = false;  // project the raw embedding in every layer, no attention, no logits

  auto cacheLayers() const { return idRange<CacheLayer>(0, groupOf.size()); }  // also those behind `layers`
};

struct RowsResult : RowsBrought {
  std::vector<std::vector<Provenance>> provenance = {};           // [groups][rows]
  std::vector<std::shared_ptr<const QueryMoments>> moments = {};  // [layers], where wanted
  std::int64_t bytes = 0;                                         // K/V written
};

/// What the last queries of a context look at.
struct Observation {
  std::shared_ptr<const NewestAttention> attention;          // receivedPerHead is there
  std::vector<std::shared_ptr<const QueryMoments>> moments;  // [layers], where wanted
  std::int32_t queries = 0;
};

/// Called per chunk with rows done; false cancels (error code cancelled).
Result<RowsResult> computeRows(Transformer& transformer, CacheStore& store, FaultDoor& faults, RowsJob job,
                               const Progress& progress = {});

/// Relative L2 deviation of each row's V at layer 1 between what is stored and what the job's maps
/// would give (CacheBlend's criterion; Yao et al. 2024). The rows are resident in layers 0 and 1.
/// Nothing is written.
Result<std::vector<double>> deviations(Transformer& transformer, CacheStore& store, FaultDoor& faults, RowsJob job);

}  // namespace kvlab
