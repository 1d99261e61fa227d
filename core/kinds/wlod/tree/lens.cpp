// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/lens.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/model/files/strict_json.h"

namespace kvlab {

std::vector<double> entryMass(const WorkingContext& context, std::span<const WlodRow> rows,
                              std::span<const std::vector<float>> layers, std::span<const double> weights) {
  std::vector<double> out(static_cast<std::size_t>(context.cost()));
  double whole = 0;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) whole += weights.empty() ? 1 : weights[layer];
  std::size_t own = 0;  // entries are in time order
  for (std::size_t row = 0; row < rows.size(); ++row) {
    double mass = 0;
    for (std::size_t layer = 0; layer < layers.size(); ++layer)
      mass += (weights.empty() ? 1 : weights[layer]) * static_cast<double>(layers[layer][row]);
    if (rows[row].entry) {
      out[own++] += mass / whole;
      continue;
    }
    const TreeNode node = rows[row].node;
    for (std::int32_t i = context.entryAt(node.start); mass > 0 && i < context.cost(); ++i) {
      const TreeNode entry = context.entries()[static_cast<std::size_t>(i)];
      if (entry.start >= node.end()) break;
      out[static_cast<std::size_t>(i)] += mass / whole * entry.span() / node.span();
    }
  }
  return out;
}

std::vector<double> attentionScores(std::span<const double> mass, double gain, double bias) {
  constexpr double kEdge = 1e-9;  // scores stay inside (-1, 1)
  std::vector<double> out(mass.size(), 0.0);
  const double mean =
      std::accumulate(mass.begin(), mass.end(), 0.0) / static_cast<double>(std::max<std::size_t>(1, mass.size()));
  if (!(mean > 0)) return out;
  for (std::size_t i = 0; i < mass.size(); ++i) {
    const double r = mass[i] / mean;
    const double score =
        gain == 1 && bias == 0 ? (r - 1) / (r + 1) : std::tanh((gain * std::log(std::max(r, kEdge)) + bias) / 2);
    out[i] = std::clamp(score, kEdge - 1, 1 - kEdge);
  }
  return out;
}

Result<Lens> loadLens(const std::string& path, int layers) {
  const auto bad = [&](const char* key, const std::string& why) {
    return Error("bad_lens", "the lens was refused", path + ": " + why,
                 "see core/kinds/wlod/tree/lens.h for the format", key);
  };
  const nlohmann::json json = KV_TRY(readJsonFile(path, "bad_file"));
  if (!json.is_object() || json.value("kind", nlohmann::json()) != "lens")
    return bad("kind", "the file's kind is not lens");
  Lens lens;
  lens.name = path;
  const nlohmann::json weights = json.value("layers", nlohmann::json());
  if (!weights.is_array() || weights.size() != static_cast<std::size_t>(layers))
    return bad("layers", "layers are not a list of " + std::to_string(layers) + " weights");
  for (const nlohmann::json& weight : weights) {
    if (!weight.is_number() || !(weight.get<double>() >= 0) || !std::isfinite(weight.get<double>()))
      return bad("layers", "a weight is not a number of 0 or more");
    lens.layers.push_back(weight.get<double>());
  }
  if (std::all_of(lens.layers.begin(), lens.layers.end(), [](double weight) { return weight == 0; }))
    return bad("layers", "all weights are 0");
  for (const auto& [key, value] : {std::pair("gain", &lens.gain), std::pair("bias", &lens.bias)}) {
    const nlohmann::json given = json.value(key, nlohmann::json(*value));
    if (!given.is_number() || !std::isfinite(given.get<double>()))
      return bad(key, std::string(key) + " is not a number");
    *value = given.get<double>();
  }
  return lens;
}

}  // namespace kvlab
