// SPDX-License-Identifier: Apache-2.0
// The gate of learned eviction: one small MLP per KV head scores keys.
//
//   score = W4 relu(W3 relu(W2 relu(W1 x + b1) + b2) + b3) + b4,   a prediction of log4(lifespan)
//
// Matrices lie as [out, in], so that a dot product walks neighbouring values and a matrix streams by once.
// Products are those of matmul.h (16 lanes, tree, then the bias), relu(y) = y < 0 ? 0 : y, so that NaN and
// infinities go through. A row's score depends on neither the other rows, the other gates nor the threads.
// Layers may be scored by one call: where rows are few it is the number of gates that keeps a machine busy.
#pragma once

#include <cstdint>

#include "kernels/context.h"
#include "kernels/ops/weight.h"
#include "kernels/platform.h"

namespace kvlab::kernels {

inline constexpr int32_t kGateHiddenMax = 1024;
inline constexpr int kGateStages = 4;

struct GateMlpArgs {
  const float* x = nullptr;  ///< [layers, n, kvHeads*headDim], keys before rotation
  int64_t n = 0;
  int32_t layers = 1;
  int32_t kvHeads = 0;
  int64_t xStride = 0;               ///< floats between rows; 0 means kvHeads*headDim
  int64_t xLayerStride = 0;          ///< floats between layers; 0 means n*xStride
  Weight w[kGateStages] = {};        ///< gateWeight(): [layers, kvHeads] weights, dense, all f32, all f16 or all bf16
  const float* b[kGateStages] = {};  ///< [layers, kvHeads, n]
  float* out = nullptr;              ///< [layers, n, kvHeads]
  int64_t outStride = 0;             ///< floats between rows; 0 means kvHeads
  int64_t outLayerStride = 0;        ///< floats between layers; 0 means n*outStride

  KVLAB_HD int32_t headDim() const { return static_cast<int32_t>(w[0].k); }  ///< at most kGateHiddenMax
  KVLAB_HD int32_t hidden() const { return static_cast<int32_t>(w[0].n); }   ///< at most kGateHiddenMax
  int64_t gates() const { return int64_t{layers} * kvHeads; }
};

/// The matrix of a stage: hidden x headDim, hidden x hidden twice, 1 x hidden.
inline Weight gateWeight(int stage, int32_t headDim, int32_t hidden, DType type, const void* data = nullptr) {
  return {.data = data, .type = type, .n = stage == kGateStages - 1 ? 1 : hidden, .k = stage == 0 ? headDim : hidden};
}

/// With the strides that 0 stands for.
inline GateMlpArgs withStrides(GateMlpArgs a) {
  if (a.xStride == 0) a.xStride = int64_t{a.kvHeads} * a.headDim();
  if (a.xLayerStride == 0) a.xLayerStride = a.n * a.xStride;
  if (a.outStride == 0) a.outStride = a.kvHeads;
  if (a.outLayerStride == 0) a.outLayerStride = a.n * a.outStride;
  return a;
}

void gateMlp(const Context&, const GateMlpArgs&);

}  // namespace kvlab::kernels
