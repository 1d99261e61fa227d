// SPDX-License-Identifier: Apache-2.0
// The built-in lens: entries that receive more attention than their fair share want detail, those that receive
// less can do without. Scores in (-1, 1), above 0 = expand. Pure; any thread.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/wlod/coverage.h"

namespace kvlab {

/// Attention by row as attention by entry, mean over layers: an entry has its own row's, and of the summaries over it
/// the part that its span is of theirs. layers: [layers][rows]; weights: [layers] how much each counts; empty = alike.
std::vector<double> entryMass(const WorkingContext& context, std::span<const WlodRow> rows,
                              std::span<const std::vector<float>> layers, std::span<const double> weights = {});

/// What weighs attention where it is not taken as it comes; read from a JSON file {"kind": "lens", "layers": [one
/// weight per layer of the model, none below 0, not all 0], "gain": g, "bias": b}; gain and bias may be left out.
struct Lens {
  std::string name = "attention";
  std::vector<double> layers = {};  // empty = alike
  double gain = 1, bias = 0;
};

/// Errors: bad_file (no JSON), bad_lens (names the key).
Result<Lens> loadLens(const std::string& path, int layers);

/// mass: attention that each entry received, in any unit. With r = mass over the mean of all entries, the score is
/// (r - 1) / (r + 1): 0.2 is one and a half times the mean, -0.2 two thirds of it; with gain g and bias b it is tanh((g
/// ln r + b) / 2), the same for 1 and 0. Without any mass all scores are 0.
std::vector<double> attentionScores(std::span<const double> mass, double gain = 1, double bias = 0);

}  // namespace kvlab
