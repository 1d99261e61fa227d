// SPDX-License-Identifier: Apache-2.0
// The decoder layer by layer: embeddings in, K/V rows written into the pools, hidden states out. A layer's rows lie in
// one pool behind one map, or in one of each for every KV head: it runs as one pass or as so many, in order of heads.
// Whoever drives it decides which rows a query sees; a row's bits depend on nothing else
// (kernels/numerics.h). One owner; engine thread.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/api/ids.h"
#include "core/model/decoder/assembled.h"
#include "core/model/decoder/experts.h"
#include "core/model/decoder/placed_weights.h"
#include "core/model/decoder/rotary.h"
#include "core/model/decoder/whole_pass.h"
#include "kernels/row_format.h"

namespace kvlab {

/// One layer, or some KV heads of it with their query heads, as a run of n queries sees it. Pointers are addresses of
/// the back end.
struct LayerPass {
  std::uint8_t* pool = nullptr;  // row records of this layer
  kernels::RowFormat format;
  const std::int32_t* slots = nullptr;   // [rows] residency map in logical order
  const std::int32_t* phases = nullptr;  // [rows] rotary table rows
  std::int64_t rows = 0;
  std::int64_t rowsSeen = 0;                 // by some query; 0 = all
  const std::int32_t* phase = nullptr;       // [n] of the queries
  const std::int32_t* write = nullptr;       // [n] slots to write K/V to; null = write nothing
  const std::uint64_t* tags = nullptr;       // [n] ledger ids, with write
  kernels::WriteRowsStats* stats = nullptr;  // or null
  const std::int32_t* rowBegin = nullptr;    // [n] first index a query sees
  const std::int32_t* rowEnd = nullptr;      // [n] one past the last
  const std::int32_t* selfSlot = nullptr;    // [n] or null: slot of the query's own row where it is
                                             // not in the map; -1 = it is in the map
  Assembled assembled;
  std::int64_t* wrong = nullptr;  // with a guard: copied rows that are wrong
  kernels::AttentionOut mass;
  const std::int32_t* queryIndex = nullptr;  // [n], with mass.lastAbove
  float aboveThreshold = 0;
  // In the first pass of a layer, for all its heads:
  float* gateKeys = nullptr;  // [n, kvHeads*headDim] takes the keys that gates score; null = none do
  bool gatesRotated = false;  // these are keys after k-norm and rotation, not before
  const kernels::GateMlpArgs* gates =
      nullptr;  // scores gateKeys at once, with its weights and to its `out`; null = later
};

/// Sees the arguments of attention, part by part, and its output: that of row i lies at attended + i * heads*headDim of
/// the layer.
using PassWitness =
    std::function<void(Layer, std::size_t part, const LayerPass&, std::int64_t n, const float* attended)>;

/// Query heads of n rows, or with `back` their output of attention: [n, stride], the heads of the pass first.
using HeadsBender =
    std::function<void(const LayerPass&, float* values, std::int64_t n, std::int64_t stride, int heads, bool back)>;

/// The passes of one layer: one for all KV heads, or one for each.
using LayerParts = std::span<const LayerPass>;

class Transformer {
 public:
  /// keysRotated: rows hold keys rotated at the phase they were written with (key_phase at_write).
  /// Errors: out_of_memory, device.
  static Result<std::unique_ptr<Transformer>> create(std::shared_ptr<const PlacedWeights> weights,
                                                     kernels::Backend& backend, std::int32_t maxPhases, int maxRows,
                                                     bool keysRotated = false);
  /// Another over the same weights and back end, for run() of passes together: maxRows rows in all of them, no phases.
  Result<std::unique_ptr<Transformer>> widened(int maxRows) const;
  /// Bytes that create() takes in the back end's memory.
  static std::int64_t bytes(const ModelConfig& config, std::int32_t maxPhases, int maxRows);

  const Model& model() const { return m_weights->model(); }
  kernels::Backend& backend() const { return m_backend; }
  const kernels::OpTable& ops() const { return m_backend.ops(); }
  Rotary& rotary() { return m_rotary; }
  /// The rotary table of a layer's keys, and that of its queries, with every row that they have now, as ops read them.
  /// All tables lie in one piece, so that one of them stands for all.
  const float* table(Layer layer = Layer(0)) { return tables() + m_rotary.keySet(layer) * tableSize(); }
  const float* queryTable(Layer layer) { return tables() + m_rotary.querySet(layer) * tableSize(); }
  bool keysRotated() const { return m_keysRotated; }
  /// Passes on equal addresses make equal calls. With experts they follow from what the rows are.
  bool replayable() const { return model().config().experts == 0; }
  int maxRows() const { return m_maxRows; }  // queries per call
  int hidden() const { return model().config().hidden; }

  // x, k, v and out are addresses of the back end, [n, ...] of f32.
  /// x [n, hidden]; ids [n] inside the vocabulary.
  void embed(const std::int32_t* ids, std::int64_t n, float* x);
  /// Runs layer l on x [n, hidden] in place. Phases have their rows in the rotary table.
  void layer(Layer l, LayerParts parts, std::int64_t n, float* x);
  /// Embeds n rows, runs the layers that there are passes for, and the head on the last row where logits are wanted.
  void run(const WholePass& pass);
  /// The same, through all layers and attention, for several transformers over the same weights, at most maxRows() rows
  /// in all: the linear steps once, for all rows together, the steps between them part by part. The bits are those of
  /// run() of each part. All memory is the host's.
  void run(std::span<const PassPart> parts);
  /// Only the K and V of layer l from its input x: written to pass.write; x is left as it is.
  void project(Layer l, LayerParts parts, std::int64_t n, const float* x);
  /// K and V of layer l as f32, [n, kvHeads*headDim] each, unrotated, nothing written; with q also the
  /// queries, [n, heads*headDim].
  void projectTo(Layer l, std::int64_t n, const float* x, float* k, float* v, float* q = nullptr);
  /// logits [n, vocab] from the last layer's output x [n, hidden].
  void logits(const float* x, std::int64_t n, float* out);

  /// Sets the runner that executes whole passes of the session in place of run(); null = none. The caller keeps it
  /// alive.
  void setRunner(PassRunner* runner) { m_runner = runner; }
  PassRunner* runner() const { return m_runner; }
  /// Sets the witness of attention in each layer of a pass; empty = none.
  void setWitness(PassWitness witness) { m_witness = std::move(witness); }
  /// Changes the query heads of some rows before attention, and its output behind it; empty = no change. Only passes
  /// over host memory call it.
  void setHeadsBend(HeadsBender bender) { m_bendHeads = std::move(bender); }
  /// The error of a codec of rows in the passes since the last call; such a pass has written rows that nobody may use.
  std::optional<Error> takeFailure() { return std::exchange(m_failure, std::nullopt); }
  /// Other weights of the same shapes, on the same back end.
  void setWeights(std::shared_ptr<const PlacedWeights> weights) { m_weights = std::move(weights); }
  /// Bytes of weights that linear steps were given to read, ever.
  std::int64_t weightBytes() const { return m_weightBytes; }

  /// Turns keys of a layer in host memory, [phases, heads*headDim], by one phase each.
  void rotateKeys(Layer layer, float* k, std::span<const std::int32_t> phases, int heads);

 private:
  Transformer(std::shared_ptr<const PlacedWeights> weights, kernels::Backend& backend, std::int32_t maxPhases,
              int maxRows, bool keysRotated);
  const kernels::Context& context() const { return m_backend.context(); }
  const float* tables() { return m_table.update(m_backend, m_rotary); }
  std::int64_t tableSize() const { return m_rotary.capacity() * m_rotary.width(); }
  kernels::LinearArgs step(const TensorView& norm, std::int64_t n, const float* x);
  struct Matrix {
    const TensorView &weight, &bias, &normBehind;
  };
  void addTo(float* x, const Matrix& matrix, std::int64_t n, const float* from);
  void norm(const TensorView& weight, std::int64_t rows, std::int64_t dim, const float* x, float* y);
  void headNorm(const TensorView& weight, std::int64_t n, int heads, const float* x, float* y);
  void reorder(const kernels::Array<std::int32_t>& order, float* x, std::int64_t n, int heads);
  void rotate(const float* table, float* x, const std::int32_t* phases, std::int64_t n, int heads, std::int64_t stride);
  void linear(const kernels::LinearArgs& args);
  void products(Layer l, std::int64_t n, const float* x, float* k, float* v, float* q);
  void makeRows(Layer l, LayerParts parts, std::int64_t n, float* k, const float* v);
  float* storedKeys(Layer l, const LayerPass& pass, std::int64_t n, float* spare);
  void rotateParts(const float* table, LayerParts parts, float* x, std::int64_t n, int heads);
  void write(Layer l, LayerParts parts, std::int64_t n, float* k, const float* v);
  struct CodedRows {
    std::vector<float> k, v;  // [n, kvHeads*headDim] or empty
  };
  void encode(Layer l, const LayerPass& pass, int first, std::int64_t stride, kernels::WriteRowsArgs& args,
              CodedRows& coded);
  void attend(Layer l, LayerParts parts, std::int64_t n, float* q, float* out);
  struct Heads {
    int count;
    const float* sinks;  // [count] or null
  };
  void attendPart(Layer l, const LayerPass& pass, std::int64_t n, Heads heads, float* q, float* out);
  void mixParts(Layer l, std::span<const PassPart> parts);
  void embed(const WholePass& pass, float* x);
  void headParts(std::span<const PassPart> parts, const float* x);
  void behindAttention(Layer l, std::int64_t n, float* x);
  void feedForward(Layer l, std::int64_t n, float* x);

  std::shared_ptr<const PlacedWeights> m_weights;
  kernels::Backend& m_backend;
  Rotary m_rotary;
  RotaryMirror m_table;
  int m_maxRows;
  bool m_keysRotated;
  PassRunner* m_runner = nullptr;
  PassWitness m_witness;
  HeadsBender m_bendHeads;
  std::int64_t m_weightBytes = 0;
  kernels::Array<std::int32_t> m_fromFile, m_toEngine;  // [headDim] orders of the values of a head; or empty
  kernels::Array<float> m_norm;                         // [maxRows, hidden]
  kernels::Array<float> m_q, m_attention;               // [maxRows, heads*headDim]
  kernels::Array<float> m_k, m_v;                       // [maxRows, kvHeads*headDim]
  kernels::Array<float> m_gate, m_up;                   // [maxRows, intermediate]
  Experts m_experts;
  std::optional<Error> m_failure;
};

}  // namespace kvlab
