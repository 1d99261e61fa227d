// SPDX-License-Identifier: Apache-2.0
// The decoder layer by layer: embeddings in, K/V rows written into the pools, hidden states out.
// Whoever drives it decides which rows a query sees; a row's bits depend on nothing else
// (kernels/numerics.h). One owner; engine thread.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/api/ids.h"
#include "core/model/model.h"
#include "core/model/rotary.h"
#include "kernels/context.h"
#include "kernels/ops/op_table.h"
#include "kernels/row_format.h"

namespace kvlab {

/// One layer as a run of n queries sees it.
struct LayerPass {
  std::uint8_t* pool = nullptr;  // row records of this layer
  kernels::RowFormat format;
  std::span<const std::int32_t> slots;     // [rows] residency map in logical order
  std::span<const std::int32_t> phases;    // [rows] rotary table rows
  const std::int32_t* phase = nullptr;     // [n] of the queries
  const std::int32_t* write = nullptr;     // [n] slots to write K/V to; null = write nothing
  const std::uint64_t* tags = nullptr;     // [n] ledger ids, with write
  const std::int32_t* rowBegin = nullptr;  // [n] first index a query sees
  const std::int32_t* rowEnd = nullptr;    // [n] one past the last
  const std::int32_t* selfSlot = nullptr;  // [n] or null: slot of the query's own row where it is
                                           // not in the map; -1 = it is in the map
  float* newestMass = nullptr;             // [rows + 1] or null
  float* newestPerHead = nullptr;          // [heads, rows + 1] or null
  float* receivedMass = nullptr;           // [rows + 1] or null
};

class Transformer {
 public:
  /// keysRotated: rows hold keys rotated at the phase they were written with (key_phase at_write).
  Transformer(std::shared_ptr<const Model> model, const kernels::OpTable& ops,
              kernels::Context context, std::int32_t maxPhases, int maxRows, bool keysRotated = false);

  const Model& model() const { return *m_model; }
  const kernels::OpTable& ops() const { return m_ops; }
  const kernels::Context& context() const { return m_context; }
  Rotary& rotary() { return m_rotary; }
  bool keysRotated() const { return m_keysRotated; }
  int maxRows() const { return m_maxRows; }  // queries per call
  int hidden() const { return m_model->config().hidden; }

  /// x [n, hidden]
  void embed(std::span<const TokenId> tokens, float* x);
  /// Runs layer l on x [n, hidden] in place.
  void layer(int l, const LayerPass& pass, std::int64_t n, float* x);
  /// Only the K and V of layer l from its input x: written to pass.write; x is left as it is.
  void project(int l, const LayerPass& pass, std::int64_t n, const float* x);
  /// K and V of layer l as f32, [n, kvHeads*headDim] each, unrotated, nothing written.
  void projectTo(int l, std::int64_t n, const float* x, float* k, float* v);
  /// logits [n, vocab] from the last layer's output x [n, hidden].
  void logits(const float* x, std::int64_t n, float* out);

 private:
  void normed(const TensorView& weight, std::int64_t n, const float* x);
  void linear(const TensorView& w, const std::vector<float>& bias, std::int64_t n, const float* x,
              float* y);
  void headNorm(const TensorView& weight, std::int64_t n, int heads, float* x);
  void attend(int l, const LayerPass& pass, std::int64_t n);
  void feedForward(int l, std::int64_t n, float* x);

  struct Biases {
    std::vector<float> q, k, v, o;
  };

  std::shared_ptr<const Model> m_model;
  const kernels::OpTable& m_ops;
  kernels::Context m_context;
  Rotary m_rotary;
  int m_maxRows;
  bool m_keysRotated;
  std::vector<Biases> m_biases;         // [layers] as f32
  std::vector<float> m_norm;            // [maxRows, hidden]
  std::vector<float> m_q, m_attention;  // [maxRows, heads*headDim]
  std::vector<float> m_k, m_v;          // [maxRows, kvHeads*headDim]
  std::vector<float> m_gate, m_up;      // [maxRows, intermediate]
};

}  // namespace kvlab
