// SPDX-License-Identifier: Apache-2.0
#include "core/model/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/model/counter_random.h"
#include "kernels/ops/sample.h"

namespace kvlab {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// softmax(values), not-a-number counting as minus infinity; ranked by value, ties by lower id, as far
/// as somebody asks: a vocabulary is long and a draw ends early in it.
class Ranking {
 public:
  explicit Ranking(std::span<const float> values) : m_values(values.begin(), values.end()), m_p(values.size()) {
    for (float& v : m_values) v = std::isnan(v) ? kNever : v;
    kernels::softmax({}, {.x = m_values.data(), .n = static_cast<std::int64_t>(m_p.size()), .out = m_p.data()});
  }
  std::size_t size() const { return m_values.size(); }
  TokenId id(std::size_t place) { return TokenId(index(place)); }
  double p(std::size_t place) { return m_p[static_cast<std::size_t>(index(place))]; }
  /// Sum over the first places.
  double mass(std::size_t places) {
    if (places == size()) return std::accumulate(m_p.begin(), m_p.end(), 0.0);
    double sum = 0;
    for (std::size_t i = 0; i < places; ++i) sum += p(i);
    return sum;
  }

 private:
  std::int32_t index(std::size_t place) {
    while (m_ids.size() <= place) rankMore();
    return m_ids[place];
  }

  bool before(std::int32_t a, std::int32_t b) const {
    const float l = m_values[static_cast<std::size_t>(a)], r = m_values[static_cast<std::size_t>(b)];
    return l != r ? l > r : a < b;
  }

  /// One pass for the best of what is not ranked yet, in a heap with the worst of them in front.
  void rankMore() {
    constexpr std::size_t kFirst = 32;
    const std::size_t count = std::min(size() - m_ids.size(), std::max(kFirst, 3 * m_ids.size()));
    const auto order = [this](std::int32_t a, std::int32_t b) { return before(a, b); };
    std::vector<std::int32_t> next;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(size()); ++i) {
      const bool full = next.size() == count;
      if (full && !(m_values[static_cast<std::size_t>(i)] > m_values[static_cast<std::size_t>(next.front())])) continue;
      if (!m_ids.empty() && !before(m_ids.back(), i)) continue;
      if (full) {
        std::pop_heap(next.begin(), next.end(), order);
        next.pop_back();
      }
      next.push_back(i);
      std::push_heap(next.begin(), next.end(), order);
    }
    std::sort_heap(next.begin(), next.end(), order);
    m_ids.insert(m_ids.end(), next.begin(), next.end());
  }

  std::vector<float> m_values, m_p;  // [vocab]
  std::vector<std::int32_t> m_ids;   // best first
};

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

/// How many places of the first `kept` hold at least `wanted`.
std::size_t headCount(Ranking& ranking, std::size_t kept, double wanted) {
  double sum = 0;
  for (std::size_t i = 0; i < kept; ++i)
    if ((sum += ranking.p(i)) >= wanted) return i + 1;
  return kept;
}

/// The place at which the mass of the places before it and its own passes `target`.
std::size_t draw(Ranking& ranking, std::size_t kept, double target) {
  double sum = 0;
  std::size_t i = 0;
  for (; i + 1 < kept && ranking.p(i + 1) > 0; ++i)
    if ((sum += ranking.p(i)) > target) break;
  return i;
}

}  // namespace

Result<Sample> Sampler::sample(std::span<const float> logits, std::span<const TokenId> history) {
  if (const std::string why = firstFault(logits); !why.empty()) return badLogits(why);
  std::vector<float> values(logits.begin(), logits.end());
  if (m_options.repetitionPenalty != 1) penalise(values, history, m_options.repetitionPenalty);
  const bool greedy = m_options.temperature <= 0;
  if (!greedy)
    for (float& v : values) v = static_cast<float>(static_cast<double>(v) / m_options.temperature);
  Ranking ranking(values);
  std::size_t kept = values.size();
  if (!greedy && m_options.topK > 0) kept = std::min(kept, static_cast<std::size_t>(m_options.topK));
  if (!greedy && m_options.topP < 1) kept = headCount(ranking, kept, m_options.topP * ranking.mass(kept));
  const double total = ranking.mass(kept);
  const std::size_t pick =
      greedy ? 0 : draw(ranking, kept, total * unitInterval(randomBits(m_state.seed, m_state.counter++)));
  Sample sample{ranking.id(pick), static_cast<float>(ranking.p(pick) / total), {}};
  for (std::size_t i = 0; i < std::min(kept, Sample::kShown); ++i)
    sample.candidates.push_back({ranking.id(i), static_cast<float>(ranking.p(i) / total)});
  return sample;
}

std::vector<Candidate> topCandidates(std::span<const float> logits, int k) {
  Ranking ranking(logits);
  std::vector<Candidate> out;
  for (std::size_t i = 0; i < std::min(ranking.size(), static_cast<std::size_t>(std::max(0, k))); ++i)
    out.push_back({ranking.id(i), static_cast<float>(ranking.p(i))});
  return out;
}

}  // namespace kvlab
