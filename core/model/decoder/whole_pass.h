// SPDX-License-Identifier: Apache-2.0
// Rows on their way through all layers of a model, and the place where several sessions' rows can go
// together. Values; pointers are addresses of the back end of the transformer that the pass is for.
#pragma once
#include <cstdint>
#include <functional>
#include <span>

#include "core/api/ids.h"
#include "kernels/ops/gate_mlp.h"

namespace kvlab {

class Transformer;
struct LayerPass;

struct WholePass {
  const std::int32_t* tokens = nullptr;  // [n]
  std::int64_t n = 0;
  std::span<const LayerPass> passes;  // for layer 0, then for layer 1, ..; a pass may end before the last layer
  int perLayer = 1;
  float* x = nullptr;       // [n, hidden] scratch; output of the last layer if the rows went alone or `keep` is set
  float* logits = nullptr;  // [vocab] of the last row, or null
  const kernels::GateMlpArgs* gates = nullptr;  // scored behind the last layer, or null
  bool keep = false;                            // x is read behind the pass
  bool embeddingOnly = false;                   // no attention: each layer projects the embeddings
  std::function<void(float* x)> given = {};     // may change the embeddings of the tokens, [n, hidden]; or empty
  std::function<void(Layer layer, const float* x)> see = {};  // gets the input of each layer, [n, hidden]; or empty
  // The input of each layer and the output of its attention for the last row, [layers, hidden] and
  // [layers, heads*headDim]; or null both.
  float *inputs = nullptr, *attended = nullptr;
};

/// A pass and whose it is.
struct PassPart {
  Transformer* transformer = nullptr;
  const WholePass* pass = nullptr;
};

/// Takes passes over from a transformer (Transformer::setRunner). Called by the thread of the session.
class PassRunner {
 public:
  virtual ~PassRunner() = default;
  /// Returns when the pass is done. An exception is the failure of the session's call.
  virtual void pass(Transformer& transformer, const WholePass& pass) = 0;
};

}  // namespace kvlab
