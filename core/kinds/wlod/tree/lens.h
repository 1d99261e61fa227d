// SPDX-License-Identifier: Apache-2.0
// The built-in lens: an entry with more attention than its fair share should get more detail, an entry with less
// attention may lose detail. Scores lie in (-1, 1); above 0 means more detail. Pure; any thread.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/api/added.h"
#include "core/api/error.h"
#include "core/kinds/wlod/tree/coverage.h"
#include "core/kinds/wlod/tree/lens_net.h"

namespace kvlab {

/// Converts attention by row to attention by entry, mean over layers. An entry gets the attention of its own row, and a
/// share of each summary above it in proportion to its span. layers: [layers][rows]; weights: [layers], empty = equal.
std::vector<double> entryMass(const WorkingContext& context, std::span<const WlodRow> rows,
                              std::span<const std::vector<float>> layers, std::span<const double> weights = {});

/// Weights for attention, from a JSON file {"kind": "lens", "layers": [one weight per layer of the model, none below 0,
/// not all 0], "gain": g, "bias": b}; gain and bias are optional.
struct Lens {
  std::string name = "attention";
  std::vector<double> layers = {};  // empty = equal
  double gain = 1, bias = 0;
  std::shared_ptr<const LensNet> net = nullptr;  // predicts attention; null = attention as measured
  std::optional<AddedUse> added = {};            // a LensRule (core/policy/outside.h) that gives scores
};

/// Errors: bad_file (no JSON), bad_lens (names the key).
Result<Lens> loadLens(const std::string& path, int layers);

/// mass: the attention that each entry received, in any unit. With r = mass over the mean of all entries the score is
/// (r - 1) / (r + 1): 0.2 means one and a half times the mean, -0.2 two thirds of the mean. With gain g and bias b the
/// score is tanh((g ln r + b) / 2), which is the same for g = 1, b = 0. Without any mass all scores are 0.
std::vector<double> attentionScores(std::span<const double> mass, double gain = 1, double bias = 0);

}  // namespace kvlab
