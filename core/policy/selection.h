// SPDX-License-Identifier: Apache-2.0
// From scores to the rows that leave a layer. Pure; any thread. semantics.md, section 6.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/api/policy_audit.h"
#include "core/api/policy_spec.h"

namespace kvlab {

/// The bands of one layer and what was done instead of what was asked for.
struct LayerBands {
  Bands bands;
  std::string fallback = {};
};

/// layer, layers: of the model; promptRows: length of the context when the last prompt ended.
LayerBands bandsOf(const PolicySpec& spec, int layer, int layers, std::int32_t promptRows);

/// Rows per layer, falling linearly from the first to the last, with mean `mean` (PyramidKV, arXiv
/// 2406.02069, section 4.2, as kvpress does it): smallest mean/beta, largest 2 mean - smallest, clipped to
/// rows - window. Uniform where the smallest would not hold the window. [layers]
std::vector<double> pyramidRows(double rows, double mean, double window, double beta, int layers);

/// What each KV head of a layer may keep of heads*budget rows (AdaKV, arXiv 2407.11550, algorithm 1 with its
/// safeguard): first its own floor(alpha*budget) best rows, then what is left goes to the best scores of all heads.
/// Between equal scores the lower head and the earlier row come first; not-a-number is below everything. scores
/// [heads][rows of the head that compete]. [heads], no more than rows.
std::vector<std::int32_t> headBudgets(const std::vector<std::vector<float>>& scores, std::int32_t budget, double alpha);

/// Scores [lists, rows] as one per row. [rows]
std::vector<float> perRow(std::span<const float> scores, std::size_t rows, HeadRule rule);

/// Rows that leave, ascending: of those outside sinks and window and not pinned, the ones with the lowest
/// scores, as many as exceed the budget (pinned ones count against it), and those below the threshold.
/// Between equal scores the later row leaves: incumbents stay. Not-a-number is below everything.
std::vector<std::int32_t> losers(std::span<const float> scores, const Bands& bands, std::optional<double> threshold,
                                 const std::vector<bool>& pinned);

}  // namespace kvlab
