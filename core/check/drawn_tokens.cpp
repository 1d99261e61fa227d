// SPDX-License-Identifier: Apache-2.0
// A token that a tick has drawn by chance is the one that the next random number of the state before falls on, by its
// logits and the rules of sampling. Counted in double and without a ranking of the whole vocabulary. A cheap check
// counts one tick in four, and looks at the generator in each. Tokens that are given draw no number, and neither does
// the likeliest one; of blocks, and of logits that an edit had made stale, nothing is known. Sampling:
// core/model/decoder/sampler.h.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/check/changes.h"
#include "core/check/checks.h"
#include "core/check/findings.h"
#include "core/model/counter_random.h"

namespace kvlab {
namespace {

constexpr double kDrawRounding = 1e-4;  // of a sum of probabilities in f32
constexpr int kDrawTurns = 4;
constexpr std::size_t kRanked = 2048;  // the best tokens, which are as many as cuts leave as a rule

/// Probabilities behind penalty and temperature, not yet divided by their sum. [vocab]
std::vector<double> weighed(const CacheState& state, const SamplingSettings& rules) {
  std::vector<double> out(state.logits->begin(), state.logits->end());
  std::vector<bool> seen(out.size());
  for (std::size_t p = 0; rules.repetitionPenalty != 1 && p < state.context.size(); ++p) {
    const auto token = at(state.ledger[state.context[p]].token.value());
    if (token >= out.size() || seen[token]) continue;
    seen[token] = true;
    out[token] = out[token] < 0 ? out[token] * rules.repetitionPenalty : out[token] / rules.repetitionPenalty;
  }
  const double most = *std::ranges::max_element(out);
  for (double& one : out) one = std::exp((one - most) / rules.temperature);
  return out;
}

/// True if the number falls on the token, among those that the cuts leave.
bool falls(const std::vector<double>& p, std::size_t token, const SamplingSettings& rules, double number) {
  const double sum = std::accumulate(p.begin(), p.end(), 0.0), room = kDrawRounding * sum;
  std::vector<double> ranked;
  double kept = sum, ahead = 0;  // mass of those that are left, and of those that rank before the token
  std::size_t place = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (p[i] > p[token] || (p[i] == p[token] && i < token)) ahead += p[i], ++place;
  const auto rankBest = [&](std::size_t most) {
    ranked = p;
    const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(std::min(most, p.size()));
    if (end != ranked.end()) std::ranges::nth_element(ranked, end, std::greater());
    ranked.erase(end, ranked.end());
    std::ranges::sort(ranked, std::greater());
  };
  if (rules.topK > 0) rankBest(at(rules.topK));
  else if (rules.topP < 1) rankBest(kRanked);
  if (rules.topK > 0 && at(rules.topK) < p.size()) {
    if (place >= at(rules.topK)) return false;
    kept = std::accumulate(ranked.begin(), ranked.end(), 0.0);
  }
  if (rules.topP < 1) {
    const double wanted = rules.topP * kept;
    if (ahead > wanted + room) return false;
    kept = 0;
    if (rules.topK <= 0 && std::accumulate(ranked.begin(), ranked.end(), 0.0) < wanted) rankBest(p.size());
    for (const double one : ranked)
      if (kept < wanted) kept += one;
  }
  const double target = kept * number;
  return target >= ahead - room && target <= ahead + p[token] + room;
}

}  // namespace

void checkDrawnTokens(const CheckInput& input, std::vector<Violation>& out) {
  Findings findings("drawn_tokens", out);
  if (!input.before || input.deeds.empty() || input.manifest.ring.blockTokens > 1 || input.state.context.empty())
    return;
  const CacheState &was = *input.before, &is = input.state;
  const SamplingSettings& rules = input.manifest.sampling;
  const LedgerId newest = is.context[is.context.size() - 1];
  if (is.random == was.random || is.tick.value() != was.tick.value() + 1 || newest < was.ledger.nextId()) return;
  const TokenId token = is.ledger[newest].token;
  const auto tell = [&](const std::string& why) {
    findings.add({{}, {}, newest}, "token " + std::to_string(token.value()) + " " + why);
  };
  if (is.random[0] != was.random[0] || is.random[1] != was.random[1] + 1)
    return tell("was drawn with the random number " + std::to_string(is.random[1] - 1) + "; the next one is " +
                std::to_string(was.random[1]));
  if (rules.temperature <= 0) return tell("was drawn with a random number; the rules take the likeliest one");
  if (was.logitsStale || !was.logits || at(token.value()) >= was.logits->size()) return;
  if (!input.full && input.scrubPart % kDrawTurns != 0) return;
  if (!falls(weighed(was, rules), at(token.value()), rules, unitInterval(randomBits(was.random[0], was.random[1]))))
    tell("is not the one that random number " + std::to_string(was.random[1]) + " falls on");
}

}  // namespace kvlab
