// SPDX-License-Identifier: Apache-2.0
// Drives rows through the layers of the model. A subclass gives the rows that attention reads in each cache layer and
// the slots for new K and V. The driver cuts the rows into chunks, asks the fault door, makes room for attention lists,
// gate keys and logits, runs the layers and waits for the end. Rows go chunk by chunk through all layers (prefill,
// decode, edits, given rows), or layer by layer, so that one layer of scratch rows is enough (rebuild, drift,
// quantisation, lifespans). Lives as long as a pass; engine thread.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/api/cache_layers.h"
#include "core/api/progress.h"
#include "core/edit/group_pass.h"
#include "core/edit/moment_sums.h"
#include "core/edit/witness.h"
#include "core/model/decoder/transformer.h"
#include "core/state/cache_store.h"
#include "core/state/fault_door.h"
#include "core/state/wanted.h"
#include "kernels/backend/staging.h"

namespace kvlab {

/// Rows [begin, begin + n) of a pass, which are computed together.
struct RowsChunk {
  std::int64_t begin = 0, n = 0;
  bool newest = false;  // the last row is the one whose logits and attention are requested
  bool summed = true;   // its queries count where attention is summed over queries
};

/// Results of a pass; see Wanted.
struct RowsBrought {
  std::vector<float> logits;                   // [vocab]
  std::shared_ptr<NewestAttention> attention;  // without maps; null if none was requested
  std::vector<float> surprise;                 // [rows] -ln p of the row's token; none of the first
  std::vector<std::vector<float>> gateScores;  // [layers of the model][rows*kvHeads] predicted log4(lifespan)
  std::vector<std::shared_ptr<const QueryMoments>> moments;  // [layers of the model] of the queries of the pass
};

class RowDriver {
 public:
  virtual ~RowDriver() = default;
  RowDriver(const RowDriver&) = delete;
  RowDriver& operator=(const RowDriver&) = delete;

 protected:
  /// layers: the cache layers of the model's first layers.
  RowDriver(Transformer& transformer, FaultDoor& faults, const Wanted& wanted, const CacheLayers& layers)
      : m_transformer(transformer),
        m_staging(transformer.backend()),
        m_layers(layers),
        m_faults(faults),
        m_wanted(wanted) {
    if (wanted.momentsFrom) m_moments.emplace(transformer, *wanted.momentsFrom);
  }

  /// Records the layers of a live pass for the checks of its commit. plan: see Witness. A pass that no check asks about
  /// is not recorded.
  void witness(CacheStore& store, std::function<void(PassDeed&)> plan) {
    if (store.deeds().wanted()) m_witness.emplace(m_transformer, m_staging, store.deeds(), m_layers, std::move(plan));
  }

  /// Runs chunk by chunk. after: receives the last layer's output of each chunk, [n, hidden]. Progress counts rows.
  using After = std::function<void(const RowsChunk&, const float* x)>;
  Result<RowsBrought> byRows(const Progress& progress, const After& after = {});
  /// Runs layer by layer, and supports only the logits of Wanted. Progress counts layers.
  Result<RowsBrought> byLayers(const Progress& progress);

  /// Chooses the chunk that begins at `begin` and has at most `most` rows; pass() is called for it next.
  virtual RowsChunk chunk(std::int64_t begin, std::int64_t most);
  /// Gives the rows that the chunk reads in a cache layer and the slots of its own rows, as backend addresses that stay
  /// valid until the end of the pass. The driver adds tags and requested outputs.
  virtual LayerPass pass(CacheLayer own, const RowsChunk& chunk) = 0;
  /// Adds the special parts of a chunk: given vectors, or embeddings only.
  virtual void complete(WholePass&, const RowsChunk&) {}
  /// True if the same calls repeat in every tick. Such a pass may be recorded, or made together with passes of other
  /// sessions.
  virtual bool steady() const { return false; }
  // Hooks of byLayers(): before a layer, before each chunk of it with the chunk's input [n, hidden], after a layer,
  // after all layers.
  virtual Status beginLayer(Layer) { return ok(); }
  virtual void beginChunk(Layer, const RowsChunk&, LayerPass&, const float*) {}
  virtual Status endLayer(Layer) { return ok(); }
  /// Output of the last layer for all rows, [rows, hidden], before the head.
  virtual void endLayers(const float*) {}

  std::int64_t count() const { return static_cast<std::int64_t>(m_rows.size()); }
  /// Number of map rows that ops are told. Larger than `rows` when calls are recorded, so that a growing map repeats
  /// the same calls for a while. Rows past a query's rowEnd are never read.
  std::int64_t roomFor(std::int64_t rows) const;

  // For passes that are prepared for all rows at once.
  LayerPass placed(const GroupPass& group, const std::int32_t* slots, const std::int32_t* phases, std::size_t rows);
  /// The same arguments from row `begin` on.
  static LayerPass fromRow(LayerPass pass, std::int64_t begin);
  /// stats: counters of what the pass writes there, or null.
  static void readFrom(LayerPass& pass, const RowPool& pool, kernels::WriteRowsStats* stats);
  /// Counters for all pools of a store at one place, so that they come and go together; call it before countersOf().
  void placeCounters(const CacheStore& store);
  /// Null where a pool's types have no scales, or nothing is counted.
  kernels::WriteRowsStats* countersOf(CacheLayer layer, const RowPool& pool) const {
    return m_counters && pool.stats() ? m_counters + at(layer) : nullptr;
  }
  /// Gives the counts to the pools, behind the pass. rows: [cache layers] that it wrote.
  void settleCounts(CacheStore& store, std::span<const std::int64_t> rows) const;

  Transformer& m_transformer;
  kernels::Staging m_staging;
  std::vector<RowTarget> m_rows;  // all rows of the pass, in order of computation
  const CacheLayers m_layers;

 private:
  void place(std::int64_t rowsOfX);
  void placeGates(std::int64_t chunk);
  LayerPass passOf(CacheLayer own, const RowsChunk& chunk);
  kernels::AttentionOut attentionOf(CacheLayer own, const RowsChunk& chunk, std::int64_t rows);
  float* placeList(std::vector<float>& host, std::int64_t lists, std::int64_t rows);
  kernels::GateMlpArgs gateCall(std::optional<Layer> layer, const RowsChunk& chunk) const;
  std::vector<kernels::GateMlpArgs> aimGates(std::vector<LayerPass>& passes, const RowsChunk& chunk) const;
  Status runChunk(const RowsChunk& chunk);
  Status score(const RowsChunk& chunk);
  Status codedWell();
  void send(const WholePass& whole);
  std::string keyOf(const WholePass& whole);
  Result<RowsBrought> finish(const char* what);

  FaultDoor& m_faults;
  const Wanted m_wanted;
  std::optional<MomentSums> m_moments;
  std::optional<Witness> m_witness;  // set in a live pass
  std::vector<std::uint64_t> m_hostTags;
  std::vector<std::int32_t> m_hostTokens;
  const std::uint64_t* m_tags = nullptr;             // [rows]
  const std::int32_t* m_tokens = nullptr;            // [rows]
  float *m_x = nullptr, *m_logits = nullptr;         // [chunk or rows, hidden], [vocab] or null
  std::vector<std::int64_t> m_listed;                // [cache layers] rows of the chunk's lists
  std::vector<kernels::AttentionOut> m_placed;       // [cache layers] lists that already have room
  float *m_gateKeys = nullptr, *m_scores = nullptr;  // see placeGates(); or null
  std::vector<kernels::WriteRowsStats> m_counted;    // [cache layers of the store] or empty
  kernels::WriteRowsStats* m_counters = nullptr;     // the same for ops
  RowsBrought m_out;
};

}  // namespace kvlab
