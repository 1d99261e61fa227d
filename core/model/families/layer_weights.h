// SPDX-License-Identifier: Apache-2.0
// The weights of one layer by role. Views of memory that somebody else keeps. Values; any thread.
#pragma once
#include "core/model/files/tensor.h"

namespace kvlab {

/// Linear weights are [out, in] as the files have them. q = heads*headDim, kv = kvHeads*headDim. What a family lacks is
/// absent.
struct LayerWeights {
  TensorView inputNorm;                   // [hidden], before attention
  TensorView q, k, v, o;                  // [q, hidden], [kv, hidden], [kv, hidden], [hidden, q]
  TensorView qBias, kBias, vBias;         // [q], [kv], [kv]
  TensorView oBias;                       // [hidden]
  TensorView qNorm, kNorm;                // [headDim] twice, or [q], [kv] for norms of whole rows
  TensorView postNorm;                    // [hidden], before the feed-forward network
  TensorView gate, up, down;              // [intermediate, hidden] twice, [hidden, intermediate]
  TensorView behindAttention;             // [hidden], norm of what attention gives
  TensorView behindFeedForward;           // [hidden], norm of what the feed-forward network gives
  TensorView gateBias, upBias, downBias;  // [intermediate] twice, [hidden]
};

enum class WeightKind : std::uint8_t { Norm, Matrix, Bias };

/// Calls fn(view, kind) for every place of a weight, absent ones too, in an order that never changes: fingerprints
/// follow it.
template <class Weights, class Fn>
void eachWeight(Weights& w, const Fn& fn) {
  using enum WeightKind;
  fn(w.inputNorm, Norm);
  for (auto* view : {&w.q, &w.k, &w.v, &w.o}) fn(*view, Matrix);
  for (auto* view : {&w.qBias, &w.kBias, &w.vBias, &w.oBias}) fn(*view, Bias);
  for (auto* view : {&w.qNorm, &w.kNorm, &w.postNorm}) fn(*view, Norm);
  for (auto* view : {&w.gate, &w.up, &w.down}) fn(*view, Matrix);
  for (auto* view : {&w.behindAttention, &w.behindFeedForward}) fn(*view, Norm);
  for (auto* view : {&w.gateBias, &w.upBias, &w.downBias}) fn(*view, Bias);
}

}  // namespace kvlab
