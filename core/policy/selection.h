// SPDX-License-Identifier: Apache-2.0
// Turns scores into the list of rows that leave a layer. Pure; any thread. semantics.md, section 6.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/api/policy_audit.h"
#include "core/api/policy_spec.h"

namespace kvlab {

/// The bands of one layer, and how they differ from the request.
struct LayerBands {
  Bands bands;
  std::string fallback = {};
};

/// layers: of the model; promptRows: length of the context when the last prompt ended.
LayerBands bandsOf(const PolicySpec& spec, Layer layer, int layers, std::int32_t promptRows);

/// Rows per layer, which fall linearly from the first layer to the last and have the mean `mean` (PyramidKV, arXiv
/// 2406.02069, section 4.2, as kvpress does it). The smallest is mean/beta, the largest 2 mean - smallest, clipped to
/// rows - window. All are equal where the smallest would not hold the window. [layers]
std::vector<double> pyramidRows(double rows, double mean, double window, double beta, int layers);

/// How many of heads*budget rows each KV head of a layer may keep (AdaKV, arXiv 2407.11550, algorithm 1 with its
/// safeguard). Each head keeps its own floor(alpha*budget) best rows; the remaining places go to the best scores of all
/// heads. Among equal scores the lower head and the earlier row come first; not-a-number is below everything.
/// scores: [heads][rows of the head that compete]. Returns [heads], each at most the head's rows.
std::vector<std::int32_t> headBudgets(const std::vector<std::vector<float>>& scores, std::int32_t budget, double alpha);

/// Joins scores [lists, rows] to one score per row. [rows]
std::vector<float> perRow(std::span<const float> scores, std::size_t rows, HeadRule rule);

/// Rows that leave, ascending. Candidates stand outside sinks and window and are not pinned. The candidates with the
/// lowest scores leave, as many as exceed the budget (pinned rows use it), and all candidates below the threshold.
/// Among equal scores the later row leaves: incumbents stay. Not-a-number is below everything.
std::vector<std::int32_t> losers(std::span<const float> scores, const Bands& bands, std::optional<double> threshold,
                                 const std::vector<bool>& pinned);

}  // namespace kvlab
