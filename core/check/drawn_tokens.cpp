// SPDX-License-Identifier: Apache-2.0
// A token that a tick has sampled is the one that the next random number of the state before selects, by the logits of
// the draw and the rules of sampling; without sampling it is the likeliest one. The logits are those of the state
// before, unless an edit had made these stale. The check computes in double and without a ranking of the whole
// vocabulary. A cheap check looks at the draw of one tick in four, and at the generator in each. Tokens that are given
// draw no number. Blocks are not checked. Sampling: core/model/decoder/sampler.h.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/check/checks.h"
#include "core/check/map_walk.h"
#include "core/model/counter_random.h"

namespace kvlab {
namespace {

constexpr double kDrawRounding = 1e-4;  // error of a sum of probabilities in f32
constexpr int kDrawTurns = 4;
constexpr std::size_t kRanked = 2048;  // the best tokens, which are as many as cuts leave as a rule

/// Logits behind the penalty of tokens of the context. [vocab]
std::vector<double> penalised(const std::vector<float>& logits, const CacheState& state,
                              const SamplingSettings& rules) {
  std::vector<double> out(logits.begin(), logits.end());
  std::vector<bool> seen(out.size());
  for (std::size_t p = 0; rules.repetitionPenalty != 1 && p < state.context.size(); ++p) {
    const auto token = at(state.ledger[state.context[p]].token.value());
    if (token >= out.size() || seen[token]) continue;
    seen[token] = true;
    out[token] = out[token] < 0 ? out[token] * rules.repetitionPenalty : out[token] / rules.repetitionPenalty;
  }
  return out;
}

/// Probabilities by chance, not yet divided by their sum. [vocab]
std::vector<double> weighed(std::vector<double> logits, double temperature) {
  const double most = *std::ranges::max_element(logits);
  for (double& one : logits) one = std::exp((one - most) / temperature);
  return logits;
}

bool isLikeliest(const std::vector<double>& logits, std::size_t token) {
  const double most = *std::ranges::max_element(logits);
  return logits[token] >= most - kDrawRounding * std::max(1.0, std::abs(most));
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

void checkDrawnTokens(const CheckInput& input, Findings& findings) {
  if (!input.before || !input.drawn || input.manifest.ring.blockTokens > 1 || input.state.context.empty()) return;
  const CacheState &was = *input.before, &is = input.state;
  const SamplingSettings& rules = input.manifest.sampling;
  const LedgerId newest = is.context[is.context.size() - 1];
  if (is.tick.value() != was.tick.value() + 1 || newest < was.ledger.nextId()) return;
  const TokenId token = is.ledger[newest].token;
  const auto tell = [&](const std::string& why) {
    findings.add({{}, {}, newest}, "token " + std::to_string(token.value()) + " " + why);
  };
  const bool chance = is.random != was.random;
  if (input.drawn->given) return chance ? tell("was given, and a random number was used") : void();
  if (chance && (is.random[0] != was.random[0] || is.random[1] != was.random[1] + 1))
    return tell("was drawn with the random number " + std::to_string(is.random[1] - 1) + "; the next one is " +
                std::to_string(was.random[1]));
  if (chance != (rules.temperature > 0))
    return tell(chance ? "was drawn with a random number; the rules take the likeliest one"
                       : "was drawn without a random number; the rules draw by chance");
  const auto& logits = input.drawn->logits;
  if (!logits || at(token.value()) >= logits->size()) return;
  if (was.logits && was.logitsStale && logits == was.logits)
    return tell("was chosen by logits that an edit had made stale");
  if (was.logits && !was.logitsStale && !was.kind->derivesContext() && logits != was.logits && *logits != *was.logits)
    return tell("was chosen by other logits than those of the state before");
  if (!input.full && input.scrubPart % kDrawTurns != 0) return;
  std::vector<double> all = penalised(*logits, was, rules);
  if (!chance) return isLikeliest(all, at(token.value())) ? void() : tell("is not the likeliest one");
  if (!falls(weighed(std::move(all), rules.temperature), at(token.value()), rules,
             unitInterval(randomBits(was.random[0], was.random[1]))))
    tell("is not the one that random number " + std::to_string(was.random[1]) + " falls on");
}

}  // namespace kvlab
