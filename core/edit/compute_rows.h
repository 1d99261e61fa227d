// SPDX-License-Identifier: Apache-2.0
// A true forward pass of chosen rows over the maps it is given: K and V into the rows' slots, the
// next logits and the newest query's attention out. Prefill, decode, edits, recomputation and the
// read-only query pass are all this one function. Engine thread.
#pragma once
#include <functional>
#include <vector>

#include "core/api/progress.h"
#include "core/edit/group_pass.h"
#include "core/model/decoder/transformer.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

class GateWeights;

/// Of the last row: the layers whose attention comes to the host.
enum class NewestLayers : std::uint8_t { None, Last, All };

struct RowsJob {
  Column<LedgerId> context;             // the order the maps are subsets of
  Column<std::uint64_t> contextSums;    // of it; extended here
  std::vector<LayerGroup> groups;       // maps name the slots to write; sums are extended here
  std::vector<std::int32_t> groupOf;    // [cache layers]
  std::vector<RowTarget> rows;          // ascending position
  const LayerSlots* scratch = nullptr;  // [cache layers][rows]: slots for rows that a map lacks; null: none does
  bool cachePhases = false;             // position mode cache: such a row's phase is its index
  bool write = true;                    // false: rows that are in a map are read, not written
  bool wantLogits = true;               // of the last row
  NewestLayers attention = NewestLayers::All;
  bool wantPerHead = false;            // of the last row, by query head
  bool wantReceived = false;           // summed over all rows
  bool wantReceivedPerHead = false;    // likewise, by query head
  bool wantMoments = false;            // of the queries of rows from momentsFrom on
  std::int32_t momentsFrom = 0;        // position
  bool guards = false;                 // copies that attention reads are checked, row by row
  const GateWeights* gates = nullptr;  // score the keys of all rows; of the transformer's back end
  bool embeddingOnly = false;          // project the raw embedding in every layer, no attention, no logits
};

struct RowsResult {
  std::vector<float> logits;  // [vocab]
  std::shared_ptr<NewestAttention> attention;
  std::vector<std::vector<Provenance>> provenance;           // [groups][rows]
  std::vector<std::shared_ptr<const QueryMoments>> moments;  // [layers], where wanted
  std::int64_t bytes = 0;                                    // K/V written
  std::vector<std::vector<float>>
      gateScores;  // [layers of the model][rows*kvHeads] predicted log4(lifespan); empty without gates
};

/// What the last queries of a context look at.
struct Observation {
  std::shared_ptr<const NewestAttention> attention;          // receivedPerHead is set
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
