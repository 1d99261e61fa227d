// SPDX-License-Identifier: Apache-2.0
#include "core/model/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/model/counter_random.h"

namespace kvlab {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Ranks ids by value, ties by lower id; not-a-number last.
struct Better {
  std::span<const float> value;
  float key(std::int32_t i) const {
    const float v = value[static_cast<std::size_t>(i)];
    return std::isnan(v) ? kNever : v;
  }
  bool operator()(std::int32_t a, std::int32_t b) const {
    return key(a) != key(b) ? key(a) > key(b) : a < b;
  }
};

/// The k best ids, best first.
std::vector<std::int32_t> bestIds(std::span<const float> values, std::size_t k) {
  std::vector<std::int32_t> ids(values.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto middle = ids.begin() + static_cast<std::ptrdiff_t>(std::min(k, ids.size()));
  std::partial_sort(ids.begin(), middle, ids.end(), Better{values});
  ids.erase(middle, ids.end());
  return ids;
}

/// exp(value - highest) of each id; not normalised.
std::vector<double> weights(std::span<const float> values, const std::vector<std::int32_t>& ids) {
  std::vector<double> out;
  out.reserve(ids.size());
  const double highest = values[static_cast<std::size_t>(ids.front())];
  for (const std::int32_t id : ids)
    out.push_back(std::exp(static_cast<double>(values[static_cast<std::size_t>(id)]) - highest));
  return out;
}

void penalise(std::vector<float>& logits, std::span<const TokenId> history, double penalty) {
  std::vector<bool> seen(logits.size());
  for (const TokenId id : history) {
    const auto i = static_cast<std::size_t>(id.value());
    if (id.value() < 0 || i >= logits.size() || seen[i]) continue;
    seen[i] = true;
    const double v = logits[i];
    logits[i] = static_cast<float>(v < 0 ? v * penalty : v / penalty);
  }
}

Error badLogits(const std::string& why) {
  return {"bad_logits", "cannot choose a token", why, "check the weights and the arithmetic type"};
}

std::string firstFault(std::span<const float> logits) {
  bool any = false;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<float>::infinity())
      return "logit " + std::to_string(i) + " is " + std::to_string(logits[i]);
    any = any || logits[i] > kNever;
  }
  return any ? "" : "no logit is above minus infinity";
}

/// The smallest head of the ranking that holds at least topP of the mass.
std::size_t headCount(const std::vector<double>& weight, double topP) {
  const double total = std::accumulate(weight.begin(), weight.end(), 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < weight.size(); ++i)
    if ((sum += weight[i]) >= topP * total) return i + 1;
  return weight.size();
}

std::size_t draw(const std::vector<double>& weight, double unit) {
  const double target = unit * std::accumulate(weight.begin(), weight.end(), 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < weight.size(); ++i)
    if ((sum += weight[i]) > target) return i;
  return weight.size() - 1;
}

}  // namespace

Result<Sample> Sampler::sample(std::span<const float> logits, std::span<const TokenId> history) {
  if (const std::string why = firstFault(logits); !why.empty()) return badLogits(why);
  std::vector<float> values(logits.begin(), logits.end());
  if (m_options.repetitionPenalty != 1) penalise(values, history, m_options.repetitionPenalty);
  const bool greedy = m_options.temperature <= 0;
  if (!greedy)
    for (float& v : values) v = static_cast<float>(static_cast<double>(v) / m_options.temperature);
  const bool cut = !greedy && m_options.topK > 0;
  auto ids = bestIds(values, cut ? static_cast<std::size_t>(m_options.topK) : values.size());
  auto weight = weights(values, ids);
  if (!greedy && m_options.topP < 1) weight.resize(headCount(weight, m_options.topP));
  ids.resize(weight.size());
  const double total = std::accumulate(weight.begin(), weight.end(), 0.0);
  const std::size_t pick =
      greedy ? 0 : draw(weight, unitInterval(randomBits(m_state.seed, m_state.counter++)));
  Sample sample{TokenId(ids[pick]), static_cast<float>(weight[pick] / total), {}};
  for (std::size_t i = 0; i < std::min(ids.size(), Sample::kShown); ++i)
    sample.candidates.push_back({TokenId(ids[i]), static_cast<float>(weight[i] / total)});
  return sample;
}

std::vector<Candidate> topCandidates(std::span<const float> logits, int k) {
  if (logits.empty() || k <= 0) return {};
  const auto ids = bestIds(logits, static_cast<std::size_t>(k));
  const double highest = Better{logits}.key(ids.front());
  double total = 0;
  for (const float v : logits)
    if (!std::isnan(v)) total += std::exp(static_cast<double>(v) - highest);
  std::vector<Candidate> out;
  for (const std::int32_t id : ids) {
    const double v = logits[static_cast<std::size_t>(id)];
    out.push_back(
        {TokenId(id), std::isnan(v) ? 0.0f : static_cast<float>(std::exp(v - highest) / total)});
  }
  return out;
}

}  // namespace kvlab
