// SPDX-License-Identifier: Apache-2.0
// Faults of attention as hypotheses: each is run in this engine on the tokens of the cache, and its rows are compared
// with the rows of the file as the reading understands them. explain.cpp asks them when layout and rows are explained
// and something is left over. Engine thread.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/explain/explain.h"
#include "core/explain/token_rows.h"
#include "core/session/session.h"

namespace kvlab {

/// What is left over when the reading is known. "Wrong" = above the bound.
struct LeftSignature {
  std::int32_t firstLayer = 0;                // first layer of the file with a wrong row
  std::int32_t firstToken = 0;                // first token with a wrong row in it
  std::vector<std::vector<float>> keys;       // [layers of the model][tokens] worst head, figure / bound; 0 = no row
  std::vector<std::vector<float>> values;     // the same
  std::vector<std::vector<float>> figures;    // [layers of the model][tokens] worst head of K and V, relative L2
  bool keysOnly = false, valuesOnly = false;  // in all layers
  bool firstLayerRight = true;                // layer 0 is right: rows were computed from the right tokens
  /// Share of wrong tokens from firstToken on, in the layers from firstLayer on.
  double dense = 0;
};

/// What hypotheses compute with.
struct HypothesisRoom {
  const ExplainAsk& ask;            // manifest and resources, for sessions of their own; `before`
  Session& session;                 // an empty one over the model; parts().weights are placed
  std::span<const TokenId> ids;     // text of the cache: tokens of the rows in order of the context
  std::span<const TokenId> before;  // text before the last edit; empty = unknown
  const TokenRows& exact;
  const LeftSignature& left;
  std::span<const ExplainedLayer> theirs = {};  // the file as the reading understands it: tokens and their rows
  std::int32_t page = 0;                        // rows of a page, where the file says that; else 0
  /// Rounds rows to the type of the file as TokenPass::stored does; empty = f32.
  std::function<void(Layer layer, std::int64_t first, std::span<float> keys, std::span<float> values)> stored;
};

/// One fault with its parameters, ready to run.
struct EngineTrial {
  nlohmann::json parameters;  // {"window": 513}
  std::string text;           // "attention sees 513 keys in place of 512"
  double cost = 1;            // of an explanation; one plain cause costs 1, each free number about 0.5 more
  /// Rows as an engine with the fault would have them, of all tokens; NaN where it would have none. Keys before
  /// rotation, and TokenRows::phases says where they are turned to. layers: that are needed, from the first on.
  std::function<Result<TokenRows>(int layers, const Progress& progress)> run;
};

struct EngineHypothesis {
  std::string_view name;  // a name in causeKinds()
  std::string_view title;
  /// Trials that are worth their time by what is left over, the likeliest first; empty = none.
  std::vector<EngineTrial> (*trials)(const HypothesisRoom& room);
  /// It explains rows that are wrong by themselves (zero, scaled, of other tokens), and what later rows became over
  /// them. So it is asked before such rows are set aside, and its rows are compared with all of the file's.
  bool rows = false;
};

/// Rows that a context has by right once it has grown past a change of its rotation: a cause, and no mistake.
inline constexpr std::string_view kGrownRotation = "grown_rotation";

/// All of them, cheap and likely ones first.
std::span<const EngineHypothesis> engineHypotheses();

}  // namespace kvlab
