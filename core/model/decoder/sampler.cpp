// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>

#include "core/api/json_values.h"
#include "core/model/counter_random.h"
#include "kernels/ops/sample.h"

namespace kvlab {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Loops without an early end, which compilers turn into vector code.
bool anyAbove(std::span<const float> values, float border) {
  std::uint32_t any = 0;
  for (const float v : values) any |= v > border ? 1u : 0u;
  return any != 0;
}
bool allBelowInfinity(std::span<const float> values) {  // no not-a-number among them either
  std::uint32_t all = 1;
  for (const float v : values) all &= v < std::numeric_limits<float>::infinity() ? 1u : 0u;
  return all != 0;
}

/// Calls fn(begin, end) for pieces of [0, size).
template <class Fn>
void inBlocks(std::size_t size, const Fn& fn) {
  constexpr std::size_t kBlock = 64;
  for (std::size_t begin = 0; begin < size; begin += kBlock) fn(begin, std::min(size, begin + kBlock));
}

/// The lowest index of the largest value.
std::size_t highest(std::span<const float> values) {
  std::size_t best = 0;
  inBlocks(values.size(), [&](std::size_t begin, std::size_t end) {
    if (!anyAbove(values.subspan(begin, end - begin), values[best])) return;
    for (std::size_t i = begin; i < end; ++i)
      if (values[i] > values[best]) best = i;
  });
  return best;
}

/// softmax(values), ranked by value, ties by lower id. Ranks are computed only as far as somebody asks, because a
/// vocabulary is long and a draw ends early. No value is not-a-number.
class Ranking {
 public:
  /// The values must outlive the ranking.
  explicit Ranking(std::span<const float> values) : m_values(values), m_p(values.size()) {
    kernels::softmax({}, {.x = m_values.data(), .n = static_cast<std::int64_t>(m_p.size()), .out = m_p.data()});
  }
  std::size_t size() const { return m_values.size(); }
  TokenId id(std::size_t place) { return TokenId(index(place)); }
  double p(std::size_t place) { return m_p[static_cast<std::size_t>(index(place))]; }
  /// Sum over the first places.
  double mass(std::size_t places) {
    std::array<double, 8> sums{};  // a single sum would be a chain as long as the vocabulary
    for (std::size_t i = 0; i < places; ++i) sums[i % sums.size()] += places == size() ? m_p[i] : p(i);
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  }

 private:
  std::int32_t index(std::size_t place) {
    while (m_ids.size() <= place) rankMore();
    return m_ids[place];
  }

  /// A token with a larger key stands before one with a smaller key: its value is larger, or as large and its id lower.
  std::uint64_t key(std::int32_t id) const {
    const auto bits = std::bit_cast<std::uint32_t>(m_values[static_cast<std::size_t>(id)] + 0.0f);  // -0 is 0
    const std::uint32_t rising = bits >> 31 ? ~bits : bits | 0x80000000u;
    return std::uint64_t{rising} << 32 | ~static_cast<std::uint32_t>(id);
  }

  /// One pass finds the best tokens that have no rank yet. It keeps the keys that may belong to them, and drops all but
  /// the best where they get many.
  void rankMore() {
    constexpr std::size_t kFirst = 32;
    const std::size_t count = std::min(size() - m_ids.size(), std::max(kFirst, 3 * m_ids.size()));
    const std::uint64_t ranked = m_ids.empty() ? std::numeric_limits<std::uint64_t>::max() : key(m_ids.back());
    const auto idOf = [](std::uint64_t key) { return static_cast<std::int32_t>(~static_cast<std::uint32_t>(key)); };
    std::vector<std::uint64_t> next;
    next.reserve(std::min(size(), 2 * count + 64));
    std::uint64_t least = 0;  // a key that `count` others reach
    float above = kNever;     // its value
    const auto keepBest = [&] {
      std::ranges::nth_element(next, next.begin() + static_cast<std::ptrdiff_t>(count) - 1, std::greater());
      next.resize(count);
      least = next.back();
      above = m_values[static_cast<std::size_t>(idOf(least))];
    };
    inBlocks(size(), [&](std::size_t begin, std::size_t end) {
      if (least > 0 && !anyAbove(m_values.subspan(begin, end - begin), above)) return;
      for (std::size_t i = begin; i < end; ++i)
        if (const std::uint64_t one = key(static_cast<std::int32_t>(i)); one > least && one < ranked)
          next.push_back(one);
      if (next.size() >= 2 * count) keepBest();
    });
    if (next.size() > count) keepBest();
    std::ranges::sort(next, std::greater());
    std::ranges::transform(next, std::back_inserter(m_ids), idOf);
  }

  std::span<const float> m_values;  // [vocab]
  std::vector<float> m_p;           // likewise
  std::vector<std::int32_t> m_ids;  // best first
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
  if (anyAbove(logits, kNever) && allBelowInfinity(logits)) return "";
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (!(logits[i] < -kNever))
      return "logit " + std::to_string(i) + " is " + numberWords(static_cast<double>(logits[i]));
  return "no logit is above minus infinity";
}

/// The smallest number of first places whose probabilities add up to `wanted`; at most `kept`.
std::size_t headCount(Ranking& ranking, std::size_t kept, double wanted) {
  double sum = 0;
  for (std::size_t i = 0; i < kept; ++i)
    if ((sum += ranking.p(i)) >= wanted) return i + 1;
  return kept;
}

/// The first place at which the mass up to and with it exceeds `target`.
std::size_t draw(Ranking& ranking, std::size_t kept, double target) {
  double sum = 0;
  std::size_t i = 0;
  for (; i + 1 < kept && ranking.p(i + 1) > 0; ++i)
    if ((sum += ranking.p(i)) > target) break;
  return i;
}

/// Logits after penalty and temperature: a span of `logits` or of `changed`.
std::span<const float> shaped(const SamplingSettings& options, std::span<const float> logits,
                              std::span<const TokenId> history, std::vector<float>& changed) {
  const bool warm = options.temperature > 0 && options.temperature != 1;
  if (options.repetitionPenalty == 1 && !warm) return logits;
  changed.assign(logits.begin(), logits.end());
  if (options.repetitionPenalty != 1) penalise(changed, history, options.repetitionPenalty);
  if (warm)
    for (float& v : changed) v = static_cast<float>(static_cast<double>(v) / options.temperature);
  return changed;
}

/// The number of ranked tokens that the cuts leave.
std::size_t keptOf(const SamplingSettings& options, Ranking& ranking) {
  std::size_t kept = ranking.size();
  if (options.temperature <= 0) return kept;
  if (options.topK > 0) kept = std::min(kept, static_cast<std::size_t>(options.topK));
  return options.topP < 1 ? headCount(ranking, kept, options.topP * ranking.mass(kept)) : kept;
}

}  // namespace

Result<TokenId> Sampler::sample(std::span<const float> logits, std::span<const TokenId> history) {
  if (const std::string why = firstFault(logits); !why.empty()) return badLogits(why);
  std::vector<float> changed;
  const std::span<const float> values = shaped(m_options, logits, history, changed);
  if (m_options.temperature <= 0) return TokenId(static_cast<std::int32_t>(highest(values)));
  Ranking ranking(values);
  const std::size_t kept = keptOf(m_options, ranking);
  return ranking.id(
      draw(ranking, kept, ranking.mass(kept) * unitInterval(randomBits(m_state.seed, m_state.counter++))));
}

Result<std::vector<Candidate>> Sampler::candidates(std::span<const float> logits,
                                                   std::span<const TokenId> history) const {
  if (const std::string why = firstFault(logits); !why.empty()) return badLogits(why);
  std::vector<float> changed;
  Ranking ranking(shaped(m_options, logits, history, changed));
  std::vector<Candidate> out(keptOf(m_options, ranking));
  const double total = ranking.mass(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = {ranking.id(i), static_cast<float>(ranking.p(i) / total)};
  return out;
}

std::vector<Candidate> topCandidates(std::span<const float> logits, int k) {
  std::vector<float> clean;
  if (!allBelowInfinity(logits)) {
    clean.assign(logits.begin(), logits.end());
    std::replace_if(
        clean.begin(), clean.end(), [](float v) { return std::isnan(v); }, kNever);
    logits = clean;
  }
  Ranking ranking(logits);
  std::vector<Candidate> out(std::min(ranking.size(), static_cast<std::size_t>(std::max(0, k))));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = {ranking.id(i), static_cast<float>(ranking.p(i))};
  return out;
}

double logSumExp(std::span<const float> x) {
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const float value : x) sum += std::exp(value - top);
  return top + std::log(sum);
}

double negativeLogLikelihood(std::span<const float> logits, TokenId token) {
  if (token.value() < 0 || at(token) >= logits.size()) return std::numeric_limits<double>::quiet_NaN();
  return logSumExp(logits) - logits[at(token)];
}

}  // namespace kvlab
