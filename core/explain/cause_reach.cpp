// SPDX-License-Identifier: Apache-2.0
#include "core/explain/cause_reach.h"

#include <algorithm>
#include <set>

#include "core/api/read_json.h"

namespace kvlab {
namespace {

using Numbers = std::set<std::int32_t>;

RowReach taken(const Numbers& layers, const Numbers& heads, const Numbers& tokens) {
  return {{layers.begin(), layers.end()}, {heads.begin(), heads.end()}, {tokens.begin(), tokens.end()}};
}

/// A list of numbers among the parameters; empty where they have none under the name.
Numbers listOf(const Cause& cause, const char* name) {
  const nlohmann::json& list = member(cause.parameters, name);
  Numbers out;
  if (list.is_array())
    for (const nlohmann::json& one : list)
      if (one.is_number_integer()) out.insert(one.get<std::int32_t>());
  return out;
}

/// Layers of the file that the cause is about.
std::vector<const ExplainedLayer*> layersOf(const Cause& cause, std::span<const ExplainedLayer> layers) {
  std::vector<const ExplainedLayer*> out;
  const nlohmann::json& own = member(cause.parameters, "layers");
  const bool order = cause.kind == "layer_order" && own.is_array() && own.size() == layers.size();
  const Numbers named = order ? Numbers() : listOf(cause, "layers");
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (order ? own[i] != layers[i].layer : named.empty() || named.contains(layers[i].layer)) out.push_back(&layers[i]);
  return out;
}

}  // namespace

WrongHeads wrongHeads(std::span<const ExplainedLayer> layers) {
  WrongHeads out;
  for (const ExplainedLayer& layer : layers) {
    out.emplace_back(layer.keys.size());
    const std::size_t heads = layer.tokens.empty() ? 1 : layer.keys.size() / layer.tokens.size();
    for (std::size_t i = 0; i < layer.keys.size(); ++i)
      out.back()[i] = layer.tokens[i / heads] >= 0 &&
          (!(layer.keys[i] <= layer.keyBounds[i]) || !(layer.values[i] <= layer.valueBounds[i]));
  }
  return out;
}

RowReach reachOf(const WrongHeads& all, const WrongHeads& but, std::span<const ExplainedLayer> layers,
                 std::int32_t heads) {
  Numbers ofLayers, ofHeads, tokens;
  for (std::size_t layer = 0; layer < layers.size(); ++layer)
    for (std::size_t i = 0; i < all[layer].size(); ++i) {
      if (!all[layer][i] || (!but.empty() && but[layer][i])) continue;
      ofLayers.insert(layers[layer].own);
      ofHeads.insert(static_cast<std::int32_t>(i) % heads);
      tokens.insert(layers[layer].tokens[i / at(heads)]);
    }
  return taken(ofLayers, ofHeads, tokens);
}

RowReach reachOf(const Cause& cause, std::span<const ExplainedLayer> layers, std::int32_t heads) {
  Numbers ofLayers, tokens;
  const Numbers rows = listOf(cause, "rows");
  if (cause.kind == "missing_rows") tokens = listOf(cause, "tokens");
  for (const ExplainedLayer* layer : layersOf(cause, layers)) {
    ofLayers.insert(layer->own);
    if (cause.kind == "missing_rows") continue;
    for (std::size_t row = 0; row < layer->tokens.size(); ++row)
      if (layer->tokens[row] >= 0 && (rows.empty() || rows.contains(static_cast<std::int32_t>(row))))
        tokens.insert(layer->tokens[row]);
  }
  Numbers ofHeads = rows.empty() ? Numbers() : listOf(cause, "heads");  // of a layout: where each head lies
  if (ofHeads.empty())
    for (std::int32_t head = 0; head < heads; ++head) ofHeads.insert(head);
  return taken(ofLayers, ofHeads, tokens);
}

}  // namespace kvlab
