// SPDX-License-Identifier: Apache-2.0
#include "core/explain/row_counts.h"

#include <algorithm>

namespace kvlab {
namespace {

std::string rowsText(std::int64_t count) { return std::to_string(count) + (count == 1 ? " row" : " rows"); }

/// The last token that a layer has a row of; -1 = none.
std::int32_t lastToken(const ExplainedLayer& layer) {
  return layer.tokens.empty() ? -1 : std::ranges::max(layer.tokens);
}

/// Rows at the end of a layer that belong to no token. Places of the last page that no row was written to are none: the
/// file gives them no position, or it gives none at all and they are less than a page.
std::int64_t rowsBehind(const ExplainedLayer& layer, const ForeignCache& cache) {
  const auto file = std::ranges::find(cache.layers, layer.layer, &ForeignLayer::layer);
  const bool placed = file != cache.layers.end() && std::ssize(file->positions) == layer.rows();
  std::int64_t out = 0;
  for (std::int64_t row = layer.rows() - 1; row >= 0 && layer.tokens[at(row)] < 0; --row)
    out += !placed || file->positions[at(row)] >= 0;
  return !placed && out < cache.block ? 0 : out;
}

/// The value that a figure has in all of some layers; -1 where they differ.
template <class Figure>
std::int64_t sameInAll(std::span<const ExplainedLayer> layers, const Figure& figure) {
  if (layers.empty()) return -1;
  const std::int64_t first = figure(layers.front());
  return std::ranges::all_of(layers, [&](const ExplainedLayer& one) { return figure(one) == first; }) ? first : -1;
}

/// Rows that a policy leaves in a layer whatever the text is; -1 = that follows from the text.
std::int64_t rowsLeft(const PolicySpec& spec) {
  if (spec.keepsAll() || spec.ratio || spec.threshold || spec.allocator != Allocator::Uniform || spec.byHead())
    return -1;
  if (spec.capacity) return *spec.capacity;
  return std::int64_t{spec.sinks} + spec.window + spec.budget.value_or(0);
}

}  // namespace

std::vector<Cause> rowCountCauses(std::span<const ExplainedLayer> layers, const ForeignCache& cache,
                                  std::int64_t tokens, const Manifest& manifest) {
  std::vector<Cause> out;
  if (layers.empty()) return out;
  const std::int32_t last = lastToken(layers.front());
  const std::int64_t missing =
      sameInAll(layers.subspan(1), [last](const ExplainedLayer& one) { return std::int64_t{last} - lastToken(one); });
  if (last >= 0 && missing > 0)
    out.push_back(
        {"rewind_two_too_many",
         {{"rows", missing}},
         rowsText(missing) + " too many left the end of every layer but layer " + std::to_string(layers.front().layer),
         0});
  const std::int64_t behind = sameInAll(layers, [&](const ExplainedLayer& one) { return rowsBehind(one, cache); });
  if (behind > 0 && last + 1 == tokens)
    out.push_back(
        {"crop_zero",
         {{"rows", behind}},
         "the text ended at token " + std::to_string(last) + ", and the layers keep " + rowsText(behind) + " behind it",
         0});
  std::vector<std::int32_t> full;
  std::int64_t most = 0, left = 0;
  for (const ExplainedLayer& layer : layers) {
    const std::int64_t rows = rowsLeft(manifest.policyOf(Layer(layer.own)));
    if (rows < 0 || layer.rows() <= rows) continue;
    full.push_back(layer.layer);
    most = layer.rows(), left = rows;
  }
  if (!full.empty())
    out.push_back({"policy_never_ran",
                   {{"layers", full}, {"rows", most}, {"left", left}},
                   "the eviction policy did not run: " + std::to_string(full.size()) + " layers have " +
                       rowsText(most) + " where " + manifest.policyOf(Layer(layers.front().own)).name + " leaves " +
                       std::to_string(left),
                   0});
  return out;
}

}  // namespace kvlab
