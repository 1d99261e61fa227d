// SPDX-License-Identifier: Apache-2.0
// A text computed layer by layer as an engine with a fault computes it: in the calls that the engine makes, with lists
// of rows, phases, weights and written rows that the fault changes. The faults of core/bugs fit its places. Rows lie in
// slots: that of token i is i, and the last slot is never written. Engine thread.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "core/api/progress.h"
#include "core/bugs/bug_kind.h"
#include "core/explain/token_rows.h"
#include "core/model/decoder/placed_weights.h"

namespace kvlab {

/// Tokens that an engine computes together: a piece of a prompt, or a token that was drawn.
struct EngineCall {
  std::int64_t begin = 0, end = 0;
  std::int64_t promptBegin = 0, promptEnd = 0;  // of the prompt that the call is a piece of
  bool drawn() const { return promptEnd - promptBegin == 1; }
};

/// A prompt in pieces of `chunk` tokens (0 = whole), from token `begin` on.
std::vector<EngineCall> promptCalls(std::int64_t begin, std::int64_t end, std::int64_t chunk);
/// Tokens that come one by one.
std::vector<EngineCall> drawnCalls(std::int64_t begin, std::int64_t end);
std::vector<EngineCall> joined(std::vector<EngineCall> first, const std::vector<EngineCall>& behind);

struct FaultPass {
  std::shared_ptr<const PlacedWeights> weights;
  kernels::Backend* backend = nullptr;  // host memory
  std::vector<TokenId> ids = {};
  std::vector<EngineCall> calls = {};     // in order, all tokens; empty = one
  std::vector<int> windows = {};          // [layers], 0 = none; empty = as in the model
  std::vector<std::int32_t> phases = {};  // [tokens]; empty = 0, 1, 2, ...
  std::int64_t reach = 0;                 // length that frequencies follow; 0 = that of the text
  kernels::DType keys = kernels::DType::f32, values = kernels::DType::f32;  // that rows are stored in
  bool partly = false;                                                      // layers are rings that are not full
  /// Calls are made one behind another, because one reads what a later one has yet to write or writes to rows of
  /// others. Else calls may be computed together, each with its own lists.
  bool ordered = false;
  /// From token `later` on other weights take the place of these, and frequencies follow another length.
  std::int64_t later = 0;
  std::shared_ptr<const PlacedWeights> laterWeights = {};  // null = none do
  std::int64_t laterReach = 0;                             // 0 = they do not
  /// Before a call, in each layer. Empty = no change, here and below.
  std::function<void(Layer, const EngineCall&, PassBend&)> pass = {};
  /// Behind a call that wrote rows; ordered passes only.
  std::function<void(Layer, const EngineCall&, const WrittenBend&)> written = {};
  /// Rows on their way into the cache, before attention reads them: as TokenPass::stored.
  std::function<void(Layer, std::int64_t first, std::span<float> keys, std::span<float> values)> stored = {};
  /// Heads of queries of the tokens from `first` on.
  std::function<void(Layer, std::int64_t first, const HeadsBend&)> heads = {};
};

/// Rows of the first `layers` layers (0 = all) as the cache has them at the end. Errors: out_of_memory, device,
/// unsupported (weights on a device), cancelled.
Result<TokenRows> faultRows(const FaultPass& pass, int layers, const Progress& progress);

}  // namespace kvlab
