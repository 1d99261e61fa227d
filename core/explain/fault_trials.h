// SPDX-License-Identifier: Apache-2.0
// Parts that the engine's hypotheses share: what is left over in plain questions, and trials made of fault passes.
// Engine thread.
#pragma once
#include <string>
#include <vector>

#include "core/explain/engine_hypotheses.h"
#include "core/explain/fault_pass.h"

namespace kvlab {

// --- what is left over ------------------------------------------------------------------------------
inline std::int64_t tokensOf(const HypothesisRoom& room) { return static_cast<std::int64_t>(room.ids.size()); }
inline const ModelConfig& configOf(const HypothesisRoom& room) { return room.session.model().config(); }
/// Keys or values of a token are above the bound in a layer of the model.
bool wrongIn(const HypothesisRoom& room, std::int32_t layer, std::int64_t token);
/// Wrong tokens of a layer, ascending.
std::vector<std::int64_t> wrongTokens(const HypothesisRoom& room, std::int32_t layer);
/// Lengths of pieces that begin or end at `token`, the likeliest first: divisors that engines use, then the rest.
std::vector<std::int64_t> chunksAt(std::int64_t token, std::int64_t tokens);
/// Windows of the manifest or of the model, [layers], 0 = none.
std::vector<int> windowsOf(const Session& session);
inline std::vector<int> windowsOf(const HypothesisRoom& room) { return windowsOf(room.session); }

// --- trials -----------------------------------------------------------------------------------------
/// A pass over the tokens without a fault, with the windows of the manifest and the type of the file.
FaultPass rightPass(const HypothesisRoom& room);
/// A trial that runs one pass.
EngineTrial trialOf(FaultPass pass, std::string text, nlohmann::json parameters, double cost = 1);
/// An engine with the fault has no row of the token in a layer.
void eraseToken(TokenRows& rows, std::size_t layer, std::int64_t token);
/// Weights read by another configuration of the same shapes.
std::shared_ptr<const PlacedWeights> readAs(const HypothesisRoom& room, const ModelConfig& config);
/// The first tokens as a prompt, the others one by one; both parts may be empty.
std::vector<EngineCall> promptThenDrawn(std::int64_t prompt, std::int64_t tokens);

/// ", from token 31 on"; nothing where that is the start.
std::string fromText(std::int64_t token, std::int64_t start = 0);
std::string layersText(const std::vector<int>& layers);  // "layer 3", "layers 1 and 2", "6 layers from layer 0 on"

// --- families of hypotheses -------------------------------------------------------------------------
std::span<const EngineHypothesis> seenRowsHypotheses();  // seen_rows.cpp: what queries see
std::span<const EngineHypothesis> turnHypotheses();      // turns.cpp: positions and rotation
std::span<const EngineHypothesis> settingHypotheses();   // engine_settings.cpp: settings, weights, heads
std::span<const EngineHypothesis> rowHypotheses();       // written_rows.cpp: rows that are not what was computed

}  // namespace kvlab
