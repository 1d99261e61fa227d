// SPDX-License-Identifier: Apache-2.0
// The built-in lens: entries that receive more attention than their fair share want detail, those that receive
// less can do without. Scores in (-1, 1), above 0 = expand. Pure; any thread.
#pragma once
#include <span>
#include <vector>

#include "core/wlod/coverage.h"

namespace kvlab {

/// Attention by row as attention by entry, mean over layers: an entry has its own row's, and of the summaries over it
/// the part that its span is of theirs. layers: [layers][rows]; weights: [layers] how much each counts; empty = alike.
std::vector<double> entryMass(const WorkingContext& context, std::span<const WlodRow> rows, std::span<const std::vector<float>> layers,
                              std::span<const double> weights = {});

/// mass: attention that each entry received, in any unit. With r = mass over the mean of all entries, the score is
/// (r - 1) / (r + 1): 0.2 is one and a half times the mean, -0.2 two thirds of it. Without any mass all scores are 0.
std::vector<double> attentionScores(std::span<const double> mass);

}  // namespace kvlab
