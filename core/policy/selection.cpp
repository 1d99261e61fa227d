// SPDX-License-Identifier: Apache-2.0
#include "core/policy/selection.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace kvlab {
namespace {

constexpr std::int32_t kAll = std::numeric_limits<std::int32_t>::max() / 4;

/// True if no other band takes from the window: the manifest gives it, or its queries are those that the policy looks
/// at.
bool wholeWindow(const PolicySpec& spec) {
  const std::optional<PolicyName> policy = policyNamed(spec.name);
  return spec.windowGiven || (policy && policy->takes("pooling"));
}

/// Total number of rows of one layer, if the manifest gives a total. A share is rounded down, a pyramid's row to the
/// nearest, to even if there are two: as in kvpress.
std::int32_t totalOf(const PolicySpec& spec, Layer layer, int layers, std::int32_t promptRows) {
  const double mean = spec.capacity ? *spec.capacity : *spec.ratio * promptRows;
  const double rows = spec.allocator == Allocator::Uniform
      ? std::floor(mean)
      : std::nearbyint(pyramidRows(promptRows, mean, spec.window, spec.beta, layers)[at(layer)]);
  return static_cast<std::int32_t>(std::clamp(rows, 1.0, double(kAll)));
}

/// The row that leaves where one does: of the lowest scores in [begin, end) the last.
std::int32_t worstOf(std::span<const float> scores, std::int32_t begin, std::int32_t end) {
  std::int32_t worst = begin;
  float least = ranked(scores[at(begin)]);
  for (std::int32_t i = begin + 1; i < end; ++i) {
    const float score = ranked(scores[at(i)]);
    worst = score <= least ? i : worst;
    least = std::min(least, score);
  }
  return worst;
}

}  // namespace

float ranked(float score) { return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score; }

std::vector<double> pyramidRows(double rows, double mean, double window, double beta, int layers) {
  double least = mean / beta, most = 2 * mean - least;
  if (most > rows - window) {
    most = rows - window;
    least = 2 * mean - most;
  }
  const bool holds = rows >= most && most >= least && least >= window;
  std::vector<double> out(static_cast<std::size_t>(layers), mean);
  const double step = layers > 1 ? (most - least) / (layers - 1) : 0;
  for (std::size_t layer = 0; holds && layer < out.size(); ++layer)
    out[layer] = most - static_cast<double>(layer) * step;
  return out;
}

LayerBands bandsOf(const PolicySpec& spec, Layer layer, int layers, std::int32_t promptRows) {
  if (!spec.capacity && !spec.ratio)
    return {{spec.sinks, spec.budget.value_or(spec.threshold ? kAll : 0), spec.window}};
  const std::int32_t total = totalOf(spec, layer, layers, promptRows);
  LayerBands out;
  out.bands.sinks = std::min(spec.sinks, std::max(0, total - 1));
  const std::int32_t rest = total - out.bands.sinks;
  out.bands.window = std::min(spec.window, wholeWindow(spec) ? rest : (rest + 1) / 2);
  out.bands.budget = rest - out.bands.window;
  if (out.bands.sinks < spec.sinks)
    out.fallback = "sinks " + std::to_string(spec.sinks) + " -> " + std::to_string(out.bands.sinks) +
        ": the layer keeps " + std::to_string(total) + " rows";
  if (wholeWindow(spec) && out.bands.window < spec.window)
    out.fallback += (out.fallback.empty() ? "window " : "; window ") + std::to_string(spec.window) + " -> " +
        std::to_string(out.bands.window) + ": what the sinks leave";
  return out;
}

std::vector<std::int32_t> headBudgets(const std::vector<std::vector<float>>& scores, std::int32_t budget,
                                      std::int32_t own) {
  std::vector<std::int32_t> out;
  std::vector<std::pair<float, std::size_t>> rest;  // score, head
  std::int64_t left = std::int64_t{budget} * static_cast<std::int64_t>(scores.size());
  for (std::size_t head = 0; head < scores.size(); ++head) {
    std::vector<float> sorted = scores[head];
    for (float& one : sorted) one = ranked(one);
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const std::size_t kept = std::min(at(own), sorted.size());
    out.push_back(static_cast<std::int32_t>(kept));
    left -= static_cast<std::int64_t>(kept);
    for (std::size_t i = kept; i < sorted.size(); ++i) rest.emplace_back(sorted[i], head);
  }
  std::stable_sort(rest.begin(), rest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  rest.resize(std::min(rest.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, left))));
  for (const auto& [score, head] : rest) ++out[head];
  return out;
}

std::vector<std::int32_t> headBudgets(const std::vector<std::vector<float>>& scores, const Bands& bands,
                                      const PolicySpec& spec) {
  const bool mixes = spec.name == "adakv" && (spec.preset == "repo" || spec.preset == "readme");
  if (!mixes) {
    const auto sure = static_cast<std::int32_t>(spec.alpha * bands.capacity());
    const std::int32_t guarded = bands.sinks + bands.window;
    return headBudgets(scores, bands.budget, std::max(0, std::max(spec.alpha > 0 ? 1 : 0, sure) - guarded));
  }
  std::vector<std::int32_t> out = headBudgets(scores, bands.budget, 0);
  const auto even = static_cast<float>(std::floor(spec.alpha * bands.budget)),
             share = static_cast<float>(1 - spec.alpha);
  for (std::int32_t& rows : out)
    rows = static_cast<std::int32_t>(std::nearbyint(static_cast<float>(rows) * share + even));
  return out;
}

bool meansReceived(const PolicySpec& spec) { return spec.name == "h2o" && spec.preset == "kvpress"; }

std::vector<float> perRow(std::vector<float> scores, std::size_t rows, HeadRule rule) {
  if (rows == 0) return {};
  const std::size_t lists = scores.size() / rows;
  for (std::size_t list = 1; list < lists; ++list)
    for (std::size_t row = 0; row < rows; ++row) {
      const float one = scores[list * rows + row];
      float& all = scores[row];
      all = rule == HeadRule::Max || rule == HeadRule::Each ? std::max(all, one) : all + one;
    }
  scores.resize(rows);
  if (rule == HeadRule::Mean)
    for (float& one : scores) one /= static_cast<float>(lists);
  return scores;
}

std::vector<std::int32_t> losers(std::span<const float> scores, const Bands& bands, std::optional<double> threshold,
                                 const std::vector<bool>& pinned) {
  const auto rows = static_cast<std::int32_t>(scores.size());
  const std::int32_t begin = std::min(bands.sinks, rows), end = std::max(begin, rows - bands.window);
  const auto scoreOf = [&](std::int32_t i) { return ranked(scores[static_cast<std::size_t>(i)]); };
  if (pinned.empty() && !threshold && end - begin == std::max(0, bands.budget) + 1)
    return {worstOf(scores, begin, end)};
  std::vector<std::int32_t> candidates;
  for (std::int32_t i = begin; i < end; ++i)
    if (pinned.empty() || !pinned[static_cast<std::size_t>(i)]) candidates.push_back(i);
  const std::int32_t held = end - begin - static_cast<std::int32_t>(candidates.size());
  const std::int32_t stay = std::max(0, bands.budget - held);
  std::vector<std::int32_t> out;
  if (static_cast<std::int32_t>(candidates.size()) > stay) {
    const auto better = [&](std::int32_t a, std::int32_t b) {
      return scoreOf(a) != scoreOf(b) ? scoreOf(a) > scoreOf(b) : a < b;
    };
    std::nth_element(candidates.begin(), candidates.begin() + stay, candidates.end(), better);
    out.assign(candidates.begin() + stay, candidates.end());
    candidates.resize(static_cast<std::size_t>(stay));
  }
  for (std::int32_t i : candidates)
    if (threshold && scoreOf(i) < *threshold) out.push_back(i);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace kvlab
