// SPDX-License-Identifier: Apache-2.0
// The weights of one layer by role. Views of memory that somebody else keeps. Values; any thread.
#pragma once
#include <vector>

#include "core/model/files/tensor.h"

namespace kvlab {

/// A feed-forward network, or one of the experts that stand for it. Linear weights are [out, in] as the files have
/// them. Weights that a family lacks are absent.
struct FeedForward {
  TensorView gate, up, down;              // [intermediate, hidden] twice, [hidden, intermediate]
  TensorView gateBias, upBias, downBias;  // [intermediate] twice, [hidden]
};

/// q = heads*headDim, kv = kvHeads*headDim.
struct LayerWeights {
  TensorView inputNorm;            // [hidden], before attention
  TensorView q, k, v, o;           // [q, hidden], [kv, hidden], [kv, hidden], [hidden, q]
  TensorView qBias, kBias, vBias;  // [q], [kv], [kv]
  TensorView oBias;                // [hidden]
  TensorView qNorm, kNorm;         // [headDim] twice, or [q], [kv] for norms of whole rows
  TensorView sinks;                // [heads], scores that take part in the softmax and stand for no row
  TensorView postNorm;             // [hidden], before the feed-forward network
  FeedForward dense;               // absent where there are experts
  TensorView router, routerBias;   // [experts, hidden], [experts]: they choose among experts
  std::vector<FeedForward> experts;
  TensorView behindAttention;    // [hidden], norm of attention's output
  TensorView behindFeedForward;  // [hidden], norm of the feed-forward network's output
};

/// Matrix: int8 codes may stand for it. Bias: it is read as f32. A router chooses, so it stays as it is.
enum class WeightKind : std::uint8_t { Norm, Matrix, Bias, Router };

/// Calls fn(view, kind) for every place of a weight, absent ones too, in an order that never changes: fingerprints
/// follow it.
template <class Weights, class Fn>
void eachWeight(Weights& w, const Fn& fn) {
  using enum WeightKind;
  fn(w.inputNorm, Norm);
  for (auto* view : {&w.q, &w.k, &w.v, &w.o}) fn(*view, Matrix);
  for (auto* view : {&w.qBias, &w.kBias, &w.vBias, &w.oBias}) fn(*view, Bias);
  for (auto* view : {&w.qNorm, &w.kNorm, &w.postNorm}) fn(*view, Norm);
  for (auto* view : {&w.dense.gate, &w.dense.up, &w.dense.down}) fn(*view, Matrix);
  for (auto* view : {&w.behindAttention, &w.behindFeedForward}) fn(*view, Norm);
  for (auto* view : {&w.dense.gateBias, &w.dense.upBias, &w.dense.downBias}) fn(*view, Bias);
  fn(w.sinks, Bias);
  fn(w.router, Router);
  fn(w.routerBias, Bias);
  for (auto& expert : w.experts) {
    for (auto* view : {&expert.gate, &expert.up, &expert.down}) fn(*view, Matrix);
    for (auto* view : {&expert.gateBias, &expert.upBias, &expert.downBias}) fn(*view, Bias);
  }
}

}  // namespace kvlab
