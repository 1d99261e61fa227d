// SPDX-License-Identifier: Apache-2.0
// The one place that drives rows through the layers of the model. A kind of rows derives from it and says what
// attention reads for the rows in each cache layer and where their K and V go; the driver cuts the rows into chunks,
// asks the fault door, places the lists of attention, the keys for gates and the logits, runs the layers and waits for
// the end. Rows go chunk by chunk through all layers (prefill, decode, edits, wLOD), or layer by layer, so that one
// layer of scratch rows is enough (rebuild, drift, quantisation, lifespans). Lives as long as a pass; engine thread.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/api/cache_layers.h"
#include "core/api/progress.h"
#include "core/edit/group_pass.h"
#include "core/model/decoder/transformer.h"
#include "core/state/fault_door.h"
#include "core/state/row_pool.h"
#include "core/state/wanted.h"
#include "kernels/backend/staging.h"

namespace kvlab {

/// Rows [begin, begin + n) of a pass, which go through a layer together.
struct RowsChunk {
  std::int64_t begin = 0, n = 0;
  bool newest = false;  // the last of them is the row whose logits and attention are wanted
};

/// What a pass brought back; see Wanted.
struct RowsBrought {
  std::vector<float> logits;                   // [vocab]
  std::shared_ptr<NewestAttention> attention;  // without maps; null where none is wanted
  std::vector<std::vector<float>> gateScores;  // [layers of the model][rows*kvHeads] predicted log4(lifespan)
};

class RowDriver {
 public:
  virtual ~RowDriver() = default;
  RowDriver(const RowDriver&) = delete;
  RowDriver& operator=(const RowDriver&) = delete;

 protected:
  /// layers: the model's first so many.
  RowDriver(Transformer& transformer, FaultDoor& faults, const Wanted& wanted, const CacheLayers& layers)
      : m_transformer(transformer),
        m_staging(transformer.backend()),
        m_layers(layers),
        m_faults(faults),
        m_wanted(wanted) {}

  /// Chunk by chunk. after: told what the last layer left of each, [n, hidden]. Progress counts rows.
  using After = std::function<void(const RowsChunk&, const float* x)>;
  Result<RowsBrought> byRows(const Progress& progress, const After& after = {});
  /// Layer by layer; of what may be wanted, logits alone. Progress counts layers.
  Result<RowsBrought> byLayers(const Progress& progress);

  /// The chunk that begins at `begin` and has at most `most` rows; pass() is asked for it next.
  virtual RowsChunk chunk(std::int64_t begin, std::int64_t most);
  /// What a chunk sees of a cache layer and where its rows go: addresses of the back end that stay until the pass is
  /// done. The driver adds tags and what is wanted.
  virtual LayerPass pass(CacheLayer own, const RowsChunk& chunk) = 0;
  /// Adds what is special about a chunk: vectors that are given, who sees what layers read, embeddings alone.
  virtual void complete(WholePass&, const RowsChunk&) {}
  /// The same calls come tick after tick: the pass may be recorded, and may meet those of other sessions.
  virtual bool steady() const { return false; }
  // Layer by layer: before a layer, before each of its chunks with the chunk's input [n, hidden], behind the layer.
  virtual Status beginLayer(Layer) { return ok(); }
  virtual void beginChunk(Layer, const RowsChunk&, LayerPass&, const float*) {}
  virtual Status endLayer(Layer) { return ok(); }

  std::int64_t count() const { return static_cast<std::int64_t>(m_rows.size()); }
  /// Rows of a map that ops are told of: more than there are where calls are recorded, so that a map that grows makes
  /// the same calls for a while. What lies past a query's rowEnd is never looked at.
  std::int64_t roomFor(std::int64_t rows) const;

  // For passes that are made for all rows at once.
  LayerPass placed(const GroupPass& group, const std::int32_t* slots, const std::int32_t* phases, std::size_t rows);
  /// As the rows from `begin` on have it.
  static LayerPass fromRow(LayerPass pass, std::int64_t begin);
  static void readFrom(LayerPass& pass, const RowPool& pool);

  Transformer& m_transformer;
  kernels::Staging m_staging;
  std::vector<RowTarget> m_rows;  // of the pass, in the order in which they are computed
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
  void send(const WholePass& whole);
  std::string keyOf(const WholePass& whole);
  Result<RowsBrought> finish(const char* what);

  FaultDoor& m_faults;
  const Wanted m_wanted;
  std::vector<std::uint64_t> m_hostTags;
  std::vector<std::int32_t> m_hostTokens;
  const std::uint64_t* m_tags = nullptr;             // [rows]
  const std::int32_t* m_tokens = nullptr;            // [rows]
  float *m_x = nullptr, *m_logits = nullptr;         // [chunk or rows, hidden], [vocab] or null
  std::vector<kernels::AttentionOut> m_placed;       // [cache layers] lists that have their room
  float *m_gateKeys = nullptr, *m_scores = nullptr;  // see placeGates(); or null
  RowsBrought m_out;
};

}  // namespace kvlab
