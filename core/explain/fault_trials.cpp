// SPDX-License-Identifier: Apache-2.0
#include "core/explain/fault_trials.h"

#include <algorithm>
#include <limits>

namespace kvlab {

bool wrongIn(const HypothesisRoom& room, std::int32_t layer, std::int64_t token) {
  const auto above = [&](const std::vector<std::vector<float>>& all) {
    return at(layer) < all.size() && at(token) < all[at(layer)].size() && all[at(layer)][at(token)] > 1;
  };
  return above(room.left.keys) || above(room.left.values);
}

std::vector<std::int64_t> wrongTokens(const HypothesisRoom& room, std::int32_t layer) {
  std::vector<std::int64_t> out;
  for (std::int64_t token = 0; token < tokensOf(room); ++token)
    if (wrongIn(room, layer, token)) out.push_back(token);
  return out;
}

std::vector<std::int64_t> chunksAt(std::int64_t token, std::int64_t tokens) {
  std::vector<std::int64_t> out;
  for (std::int64_t size = 4096; size >= 4; size /= 2)
    if (token % size == 0 && token > 0) out.push_back(size);
  if (token > 0 && std::ranges::find(out, token) == out.end()) out.push_back(token);
  for (std::int64_t size = 4096; size >= 4; size /= 2)
    if (token % size != 0 && size < tokens) out.push_back(size);
  return out;
}

std::vector<int> windowsOf(const Session& session) {
  std::vector<int> out;
  const CacheState& state = session.state();
  for (const Layer layer : idRange<Layer>(0, session.model().config().layers))
    out.push_back(state.group(state.cacheLayers().of(layer).front()).window);
  return out;
}

FaultPass rightPass(const HypothesisRoom& room) {
  FaultPass out;
  out.weights = room.session.parts().weights;
  out.backend = room.session.parts().backend.get();
  out.ids.assign(room.ids.begin(), room.ids.end());
  out.windows = windowsOf(room);
  out.stored = room.stored;
  return out;
}

EngineTrial trialOf(FaultPass pass, std::string text, nlohmann::json parameters, double cost) {
  return {std::move(parameters), std::move(text), cost,
          [shared = std::make_shared<const FaultPass>(std::move(pass))](int layers, const Progress& progress) {
            return faultRows(*shared, layers, progress);
          }};
}

void eraseToken(TokenRows& rows, std::size_t layer, std::int64_t token) {
  for (std::vector<float>* all : {&rows.keys[layer], &rows.values[layer]}) {
    const std::size_t width = all->size() / rows.phases.size();
    std::fill_n(all->begin() + static_cast<std::ptrdiff_t>(at(token) * width), width,
                std::numeric_limits<float>::quiet_NaN());
  }
}

std::shared_ptr<const PlacedWeights> readAs(const HypothesisRoom& room, const ModelConfig& config) {
  return PlacedWeights::withConfig(room.session.parts().weights, config);
}

std::vector<EngineCall> promptThenDrawn(std::int64_t prompt, std::int64_t tokens) {
  return joined(promptCalls(0, prompt, 0), drawnCalls(prompt, tokens));
}

std::string fromText(std::int64_t token, std::int64_t start) {
  return token <= start ? "" : ", from token " + std::to_string(token) + " on";
}

std::string layersText(const std::vector<int>& layers) {
  if (layers.size() == 1) return "layer " + std::to_string(layers[0]);
  if (layers.size() == 2) return "layers " + std::to_string(layers[0]) + " and " + std::to_string(layers[1]);
  return std::to_string(layers.size()) + " layers from layer " + std::to_string(layers.empty() ? 0 : layers[0]) + " on";
}

}  // namespace kvlab
