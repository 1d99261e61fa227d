// SPDX-License-Identifier: Apache-2.0
// K and V of a text in every layer as f32, computed layer by layer, outside of any session. A text may be computed in
// stages with maps of their own, as edits leave them, and rows may be rounded before attention reads them. Values and
// functions; engine thread.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/api/ids.h"
#include "core/api/progress.h"
#include "core/model/decoder/placed_weights.h"

namespace kvlab {

/// Rows of a text, one for each token, in the form of Hugging Face: keys before rotation, values of a head in the order
/// of files.
struct TokenRows {
  std::vector<std::vector<float>> keys, values;  // [layers of the model][tokens * kvHeads * headDim]
  std::vector<double> phases;                    // [tokens] that queries of the row, and readers of it, turn by
};

/// Some tokens that are computed together, and what their queries see.
struct RowStage {
  std::int64_t begin = 0, end = 0;   // tokens of the text
  std::vector<std::int32_t> rows;    // what queries see in order of the context: tokens of earlier stages and of this
                                     // one; a query sees nothing behind its own row
  std::vector<std::int32_t> phases;  // [rows] at this time; those of own rows are the phases of their queries
};

struct TokenPass {
  std::shared_ptr<const PlacedWeights> weights;
  kernels::Backend* backend = nullptr;  // of the weights; another arithmetic of the host is allowed
  std::vector<TokenId> ids;
  std::vector<RowStage> stages = {};  // empty = one, over all tokens, phases 0, 1, 2, ...
  std::vector<int> windows = {};      // [layers] keys that a query sees, itself included, 0 = all; empty = as
                                      // in the model
  int layers = 0;                     // the first layers only; 0 = all
  /// Changes rows of a layer on their way into the cache: K as the model computes them, before rotation (TokenRows),
  /// and V, [tokens from `first` on, kvHeads * headDim] each. Empty = none.
  std::function<void(Layer layer, std::int64_t first, std::span<float> keys, std::span<float> values)> stored = {};
  /// Changes the residual stream behind a layer, [tokens, hidden]. Empty = none.
  std::function<void(Layer layer, std::int64_t first, std::span<float> x)> between = {};
  Progress progress = {};
};

/// Bytes that tokenRows() holds at the end.
std::int64_t tokenRowsBytes(const ModelConfig& config, std::int64_t tokens);

/// Errors: out_of_memory, device, unsupported (weights on a device), cancelled.
Result<TokenRows> tokenRows(const TokenPass& pass);

}  // namespace kvlab
