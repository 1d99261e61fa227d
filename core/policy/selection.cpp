// SPDX-License-Identifier: Apache-2.0
#include "core/policy/selection.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace kvlab {
namespace {

constexpr std::int32_t kAll = std::numeric_limits<std::int32_t>::max() / 4;

std::int32_t rounded(double rows) {
  return static_cast<std::int32_t>(std::lround(std::clamp(rows, 0.0, double(kAll))));
}

/// Total number of rows of one layer, if the manifest gives a total.
std::int32_t totalOf(const PolicySpec& spec, Layer layer, int layers, std::int32_t promptRows) {
  const double mean = spec.capacity ? *spec.capacity : *spec.ratio * promptRows;
  if (spec.allocator == Allocator::Uniform) return std::max(1, rounded(mean));
  return std::max(1, rounded(pyramidRows(promptRows, mean, spec.window, spec.beta, layers)[at(layer)]));
}

}  // namespace

std::vector<double> pyramidRows(double rows, double mean, double window, double beta, int layers) {
  double least = mean / beta, most = 2 * mean - least;
  if (most > rows - window) {
    most = rows - window;
    least = 2 * mean - most;
  }
  const bool holds = rows >= most && most >= least && least >= window;
  std::vector<double> out(static_cast<std::size_t>(layers), mean);
  for (std::size_t layer = 0; holds && layers > 1 && layer < out.size(); ++layer)
    out[layer] = most - (most - least) * static_cast<double>(layer) / (layers - 1);
  return out;
}

LayerBands bandsOf(const PolicySpec& spec, Layer layer, int layers, std::int32_t promptRows) {
  if (!spec.capacity && !spec.ratio)
    return {{spec.sinks, spec.budget.value_or(spec.threshold ? kAll : 0), spec.window}};
  const std::int32_t total = totalOf(spec, layer, layers, promptRows);
  LayerBands out;
  out.bands.sinks = std::min(spec.sinks, std::max(0, total - 1));
  const std::int32_t rest = total - out.bands.sinks;
  out.bands.window = std::min(spec.window, spec.windowGiven ? rest : (rest + 1) / 2);
  out.bands.budget = rest - out.bands.window;
  if (out.bands.sinks < spec.sinks)
    out.fallback = "sinks " + std::to_string(spec.sinks) + " -> " + std::to_string(out.bands.sinks) +
        ": the layer keeps " + std::to_string(total) + " rows";
  if (spec.windowGiven && out.bands.window < spec.window)
    out.fallback += (out.fallback.empty() ? "window " : "; window ") + std::to_string(spec.window) + " -> " +
        std::to_string(out.bands.window) + ": what the sinks leave";
  return out;
}

std::vector<std::int32_t> headBudgets(const std::vector<std::vector<float>>& scores, std::int32_t budget,
                                      double alpha) {
  const auto own = static_cast<std::size_t>(alpha * std::max(0, budget));
  std::vector<std::int32_t> out;
  std::vector<std::pair<float, std::size_t>> rest;  // score, head
  std::int64_t left = std::int64_t{budget} * static_cast<std::int64_t>(scores.size());
  for (std::size_t head = 0; head < scores.size(); ++head) {
    std::vector<float> sorted = scores[head];
    for (float& one : sorted)
      if (std::isnan(one)) one = -std::numeric_limits<float>::infinity();
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const std::size_t kept = std::min(own, sorted.size());
    out.push_back(static_cast<std::int32_t>(kept));
    left -= static_cast<std::int64_t>(kept);
    for (std::size_t i = kept; i < sorted.size(); ++i) rest.emplace_back(sorted[i], head);
  }
  std::stable_sort(rest.begin(), rest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  rest.resize(std::min(rest.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, left))));
  for (const auto& [score, head] : rest) ++out[head];
  return out;
}

std::vector<float> perRow(std::span<const float> scores, std::size_t rows, HeadRule rule) {
  if (rows == 0) return {};
  std::vector<float> out(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(rows));
  const std::size_t lists = scores.size() / rows;
  for (std::size_t list = 1; list < lists; ++list)
    for (std::size_t row = 0; row < rows; ++row) {
      const float one = scores[list * rows + row];
      out[row] = rule == HeadRule::Max || rule == HeadRule::Each ? std::max(out[row], one) : out[row] + one;
    }
  if (rule == HeadRule::Mean)
    for (float& one : out) one /= static_cast<float>(lists);
  return out;
}

std::vector<std::int32_t> losers(std::span<const float> scores, const Bands& bands, std::optional<double> threshold,
                                 const std::vector<bool>& pinned) {
  const auto rows = static_cast<std::int32_t>(scores.size());
  const std::int32_t begin = std::min(bands.sinks, rows), end = std::max(begin, rows - bands.window);
  const auto scoreOf = [&](std::int32_t i) {
    const float score = scores[static_cast<std::size_t>(i)];
    return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
  };
  std::vector<std::int32_t> candidates;
  for (std::int32_t i = begin; i < end; ++i)
    if (!pinned[static_cast<std::size_t>(i)]) candidates.push_back(i);
  const std::int32_t held = end - begin - static_cast<std::int32_t>(candidates.size());
  const std::int32_t stay = std::max(0, bands.budget - held);
  std::vector<std::int32_t> out;
  if (static_cast<std::int32_t>(candidates.size()) > stay) {
    const auto better = [&](std::int32_t a, std::int32_t b) {
      return scoreOf(a) != scoreOf(b) ? scoreOf(a) > scoreOf(b) : a < b;
    };
    const auto first = candidates.begin() + stay;  // of those that leave
    if (candidates.end() - first == 1) std::iter_swap(std::ranges::max_element(candidates, better), first);
    else std::nth_element(candidates.begin(), first, candidates.end(), better);
    out.assign(candidates.begin() + stay, candidates.end());
    candidates.resize(static_cast<std::size_t>(stay));
  }
  for (std::int32_t i : candidates)
    if (threshold && scoreOf(i) < *threshold) out.push_back(i);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace kvlab
