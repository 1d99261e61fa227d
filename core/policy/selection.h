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

/// The bands of one layer, and how they differ from the requested bands.
struct LayerBands {
  Bands bands;
  std::string fallback = {};
};

/// layers: number of layers of the model; promptRows: length of the context when the last prompt ended.
LayerBands bandsOf(const PolicySpec& spec, Layer layer, int layers, std::int32_t promptRows);

/// Rows per layer, falling linearly from the first layer to the last with the mean `mean` (PyramidKV, arXiv 2406.02069,
/// section 4.2, as in kvpress). The smallest is mean/beta, the largest 2 mean - smallest, clipped to rows - window; a
/// single layer has the largest. If the smallest would not hold the window, all layers are equal. [layers]
std::vector<double> pyramidRows(double rows, double mean, double window, double beta, int layers);

/// Number of rows that each KV head of a layer may keep of heads*budget (AdaKV, arXiv 2407.11550, algorithm 1). Each
/// head keeps its own best rows, `own` of them; the remaining places go to the best scores of all heads. Among equal
/// scores the lower head and the earlier row come first; NaN ranks lowest. scores: [heads][competing rows of the head].
/// Returns [heads], each at most the head's rows.
std::vector<std::int32_t> headBudgets(const std::vector<std::vector<float>>& scores, std::int32_t budget,
                                      std::int32_t own);
/// The same by the rule of the program that the preset names. kvpress: a head keeps its best floor(alpha * rows that
/// the bands hold), sinks and window among them. FFY0/AdaKV (adakv's presets repo and readme): a head that would
/// win c places without any of its own has round(c * (1 - alpha) + floor(alpha * budget)) in float32, so that the sum
/// may differ from heads*budget by half a row a head.
std::vector<std::int32_t> headBudgets(const std::vector<std::vector<float>>& scores, const Bands& bands,
                                      const PolicySpec& spec);

/// True if attention received counts as a mean over the queries that saw a row, as in kvpress, not as a sum.
bool meansReceived(const PolicySpec& spec);

/// Combines scores [lists, rows] into one score per row. [rows]
std::vector<float> perRow(std::vector<float> scores, std::size_t rows, HeadRule rule);

/// A score as rows are ranked by it: NaN lowest.
float ranked(float score);

/// Rows that leave, ascending. Candidates lie between sinks and window and are not pinned. As many candidates with the
/// lowest scores leave as exceed the budget, which pinned rows use up too, and also all candidates below the threshold.
/// Among equal scores the later row leaves. NaN ranks lowest. pinned: [rows], or empty if no row is.
std::vector<std::int32_t> losers(std::span<const float> scores, const Bands& bands, std::optional<double> threshold,
                                 const std::vector<bool>& pinned);

}  // namespace kvlab
