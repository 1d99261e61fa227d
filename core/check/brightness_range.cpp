// SPDX-License-Identifier: Apache-2.0
// Brightness is a number between 0 and its maximum. If a tick has generated a token, the brightness of every older
// token follows from its attention, and culling used these values. semantics.md, section 4.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "core/check/checks.h"
#include "core/check/map_walk.h"
#include "core/check/scalar_decoder.h"

namespace kvlab {
namespace {

/// Attention of the newest query of a state to each token in the last layer, mean over its heads, [length]; empty where
/// the query saw tokens that have left the context.
std::vector<float> newestMass(const CacheState& state) {
  std::vector<float> out(state.context.size());
  const NewestAttention* all = state.attention.get();
  if (!all || all->mass.size() != state.groupOf.size() || all->maps.size() != all->mass.size()) return out;
  const CacheLayers layers = state.cacheLayers();
  const float share = 1.0f / static_cast<float>(layers.perLayer);
  for (const CacheLayer layer : layers.of(layers.last())) {
    if (!all->maps[at(layer)]) return {};
    const Column<LedgerId>& ledger = all->maps[at(layer)]->ledger;
    const std::span<const float> mass = all->mass[at(layer)];
    const std::span<const LedgerId> seen = ledger.span(), context = state.context.span();
    const std::size_t rows = std::min(seen.size(), mass.size());
    std::size_t row = std::min(rows, ledger.alike(state.context));
    for (std::size_t i = 0; i < row; ++i) out[i] += share * mass[i];
    for (std::size_t p = row; p < out.size() && row < rows; ++p)  // a map is a part of the context, in its order
      if (seen[row] == context[p]) out[p] += share * mass[row++];
    if (row < seen.size()) return {};
  }
  return out;
}

void checkLaw(const CheckInput& input, Findings& findings) {
  const CacheState &was = *input.before, &is = input.state;
  const std::vector<float> attended = newestMass(was);
  if (attended.empty()) return;
  const auto decay = static_cast<float>(input.manifest.brightness.decay),
             gain = static_cast<float>(input.manifest.brightness.gain),
             max = static_cast<float>(input.manifest.brightness.max);
  const std::span<const LedgerId> before = was.context.span(), context = is.context.span();
  const float *const old = was.brightness.data(), *const now = is.brightness.data(), *const mass = attended.data();
  const auto compare = [&](std::size_t p, float b, std::size_t q) {
    const float wanted = std::clamp(old[q] - decay + gain * mass[q], 0.0f, max);
    if (std::abs(b - wanted) > 1e-3f * (1 + wanted))
      findings.add({{}, p, before[q]},
                   "position " + std::to_string(p) + ": brightness " + std::to_string(b) +
                       " is not what the newest attention makes of it, " + std::to_string(wanted));
  };
  if (input.culled && input.culled->brightness.size() == before.size())
    for (std::size_t p = 0; p < before.size(); ++p) compare(p, input.culled->brightness[p], p);
  const LedgerId came = was.ledger.nextId();
  const std::size_t front = was.context.alike(is.context);
  std::size_t q = 0;
  for (std::size_t p = 0; p < context.size(); ++p) {
    if (p < front) q = p;
    else {
      if (context[p] >= came) continue;
      while (q < before.size() && before[q] != context[p]) ++q;  // both contexts are in the same order
      if (q == before.size()) return;
    }
    compare(p, now[p], q);
  }
}

/// A token that came begins with the brightness of its source.
void checkStart(const CheckInput& input, Findings& findings) {
  const CacheState& is = input.state;
  const BrightnessSettings& rules = input.manifest.brightness;
  for (std::size_t p = is.context.alike(input.before->context); p < is.context.size(); ++p) {
    const LedgerId id = is.context[p];
    if (id < input.before->ledger.nextId() || is.ledger[id].kind != RowKind::Token) continue;
    const auto start = rules.start.find(std::string(name(is.ledger[id].source)));
    const auto wanted = static_cast<float>(start == rules.start.end() ? rules.max : start->second);
    if (is.brightness[p] != wanted)
      findings.add({{}, p, id},
                   "position " + std::to_string(p) + ": brightness " + std::to_string(is.brightness[p]) +
                       " of a new token is not what its source begins with, " + std::to_string(wanted));
  }
}

/// No early end: compilers make vector code.
bool allWithin(std::span<const float> brightness, float max) {
  std::uint32_t all = 1;
  for (const float b : brightness) all &= (b >= 0 ? 1u : 0u) & (b <= max ? 1u : 0u);
  return all != 0;
}

constexpr std::int64_t kLeast = 1024;  // tokens that a cheap check compares
constexpr double kRoom = 1e-6;         // tolerance of a cosine

double product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Not a number if one of them is zero.
double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  return product(a, b) / std::sqrt(product(a, a) * product(b, b));
}

/// Derives the culling of a tick a second time from the state before: how many pairs leave, which ones, and which
/// tokens replace them; and checks that the commit has carried it out. A full check compares the token with the whole
/// vocabulary, a cheap one with a part. semantics.md, section 4.
class CulledPairs {
 public:
  CulledPairs(const CheckInput& input, Findings& findings)
      : m_input(input), m_state(input.state), m_before(*input.before), m_deed(*input.culled), m_findings(findings) {}

  void check() {
    chosen();
    const bool judged = m_input.transformer && !m_input.manifest.brightness.asksOutside();
    if (m_findings.count() == 0 && judged && !m_deed.pairs.empty()) tokens();
    for (const CulledPair& pair : m_deed.pairs)
      if (m_findings.count() == 0 && pair.token) carriedOut(pair);
  }

 private:
  LedgerId id(const CulledPair& pair, std::int32_t of) const { return m_before.context[at(pair.first.value() + of)]; }
  float brightness(const CulledPair& pair, std::int32_t of) const {
    return m_deed.brightness[at(pair.first.value() + of)];
  }
  void add(std::int32_t position, LedgerId row, const std::string& detail) {
    m_findings.add({{}, at(position), row}, "position " + std::to_string(position) + ": " + detail);
  }

  /// [length] tokens that may be culled: some head of the last layer has them, and nobody else wants them.
  std::vector<bool> open() const {
    std::vector<bool> there(m_before.ledger.size()), out(m_before.context.size());
    for (const CacheLayer layer : m_before.cacheLayers().of(m_before.cacheLayers().last())) {
      const ResidencyView& map = m_before.map(layer);
      for (std::size_t i = at(map.first); i < map.size(); ++i) there[at(map.ledger[i].value())] = true;
    }
    for (std::size_t p = 0; p < out.size(); ++p)
      out[p] = there[at(m_before.context[p].value())] && !m_before.ledger[m_before.context[p]].pinned &&
          !(p < m_deed.touched.size() && m_deed.touched[p]);
    return out;
  }

  /// First positions of the pairs that the rule takes.
  std::vector<std::int32_t> dimmest() const {
    std::vector<bool> free = open();
    const auto length = std::ssize(free);
    std::vector<std::int32_t> out;
    for (std::ptrdiff_t one = 0; one < (length >= m_deed.target) + (length > m_deed.target); ++one) {
      std::int32_t best = -1;
      float least = 0;
      for (std::int32_t p = 0; p + 1 < length; ++p) {
        const float brighter = std::max(m_deed.brightness[at(p)], m_deed.brightness[at(p + 1)]);
        if (free[at(p)] && free[at(p + 1)] && (best < 0 || brighter < least)) best = p, least = brighter;
      }
      if (best < 0) break;
      free[at(best)] = free[at(best + 1)] = false;
      out.push_back(best);
    }
    return out;
  }

  void chosen() {
    const std::vector<std::int32_t> wanted = dimmest();
    for (std::size_t i = 0; i < std::max(wanted.size(), m_deed.pairs.size()); ++i) {
      const std::int32_t is = i < m_deed.pairs.size() ? m_deed.pairs[i].first.value() : -1;
      if (i < wanted.size() && is == wanted[i]) continue;
      const std::int32_t said = is >= 0 ? is : wanted[i];
      return add(said, m_before.context[at(said)],
                 (is >= 0 ? "culling chose the pair that begins here" : std::string("culling chose no further pair")) +
                     (i < wanted.size() ? "; the rule takes the pair at " + std::to_string(wanted[i])
                                        : "; the rule takes no further pair"));
    }
  }

  /// The mean embedding of a pair, weighted by brightness, [hidden].
  std::vector<double> mean(const ScalarDecoder& decoder, const CulledPair& pair) const {
    const bool dark = brightness(pair, 0) == 0 && brightness(pair, 1) == 0;
    std::vector<double> out = decoder.embed(m_before.ledger[id(pair, 0)].token);
    const std::vector<double> other = decoder.embed(m_before.ledger[id(pair, 1)].token);
    const double own = dark ? 0.5 : static_cast<double>(brightness(pair, 0)),
                 others = dark ? 0.5 : static_cast<double>(brightness(pair, 1));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = (own * out[i] + others * other[i]) / (own + others);
    return out;
  }

  /// The part of the vocabulary that this check compares.
  std::pair<std::int32_t, std::int32_t> compared() const {
    const std::int64_t all = m_input.transformer->model().embed().shape[0];
    if (m_input.full) return {0, static_cast<std::int32_t>(all)};
    const std::int64_t width = std::max(kLeast, all / std::max(1, m_input.manifest.scrubPeriod) + 1),
                       begin = std::max<std::int64_t>(0, m_input.scrubPart) % ((all + width - 1) / width) * width;
    return {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(std::min(all, begin + width))};
  }

  void tokens() {
    const Model& model = m_input.transformer->model();
    const ScalarDecoder decoder(model, m_before.reach());
    std::vector<std::vector<double>> means;
    std::vector<double> cosines;  // any other token must have a lower one
    for (const CulledPair& pair : m_deed.pairs) {
      means.push_back(mean(decoder, pair));
      cosines.push_back(pair.token ? cosine(decoder.embed(*pair.token), means.back()) : m_deed.minCosine);
      if (cosines.back() < m_deed.minCosine - kRoom)
        return wrong(pair, "is not as near as " + std::to_string(m_deed.minCosine));
      if (pair.token && model.tokenizer().isSpecial(*pair.token)) return wrong(pair, "is a special token");
    }
    const auto [begin, end] = compared();
    for (TokenId token(begin); token.value() < end; token = TokenId(token.value() + 1)) {
      if (model.tokenizer().isSpecial(token)) continue;
      const std::vector<double> embedding = decoder.embed(token);
      for (std::size_t i = 0; i < means.size(); ++i)
        if (cosine(embedding, means[i]) > cosines[i] + kRoom) return nearer(m_deed.pairs[i], token);
    }
  }

  void nearer(const CulledPair& pair, TokenId token) {
    const std::string name = "token " + std::to_string(token.value());
    if (pair.token)
      return wrong(pair, "takes the place of the pair, and " + name + " is nearer to the mean of the pair");
    add(pair.first.value(), id(pair, 0),
        "culling found no token for the pair that begins here, and " + name + " is as near as " +
            std::to_string(m_deed.minCosine));
  }

  void wrong(const CulledPair& pair, const std::string& what) {
    add(pair.first.value(), cameFrom(pair).value_or(id(pair, 0)),
        "token " + std::to_string(pair.token->value()) + " " + what);
  }

  /// The row of the context that took the place of both.
  std::optional<LedgerId> cameFrom(const CulledPair& pair) const {
    for (const LedgerId one : m_state.context.span())
      if (one >= m_before.ledger.nextId() &&
          std::ranges::equal(m_state.ledger[one].parents, std::array{id(pair, 0), id(pair, 1)}))
        return one;
    return std::nullopt;
  }

  void carriedOut(const CulledPair& pair) {
    const std::optional<LedgerId> row = cameFrom(pair);
    if (row && m_state.ledger[*row].token == *pair.token) return;
    add(pair.first.value(), row.value_or(id(pair, 0)),
        (row ? "token " + std::to_string(m_state.ledger[*row].token.value()) : std::string("no token")) +
            " stands in the place of the pair that began here; culling chose token " +
            std::to_string(pair.token->value()));
  }

  const CheckInput& m_input;
  const CacheState &m_state, &m_before;
  const CullDeed& m_deed;
  Findings& m_findings;
};

}  // namespace

void checkBrightnessRange(const CheckInput& input, Findings& findings) {
  const CacheState& state = input.state;
  const auto max = static_cast<float>(input.manifest.brightness.max);
  const std::span<const float> bright = state.brightness.span();
  for (std::size_t i = allWithin(bright, max) ? bright.size() : 0; i < bright.size(); ++i) {
    const float b = bright[i];
    if (b >= 0 && b <= max) continue;
    findings.add(placeIn({}, i, state.context),
                 "position " + std::to_string(i) + ": brightness " + std::to_string(b) + " is outside 0 .. " +
                     std::to_string(max));
  }
  if (input.manifest.ring.blockTokens <= 1 && findings.count() == 0 &&
      state.brightness.size() == state.context.size() && edited(input))
    checkStart(input, findings);
  if (input.culled && input.before && findings.count() == 0 &&
      input.culled->brightness.size() == input.before->context.size())
    CulledPairs(input, findings).check();
  // Only for ticks that make passes. A pass that refreshes stale logits has attention, too, which is not kept.
  const bool oneToken = !input.deeds.empty() && input.before && !input.before->logitsStale &&
      input.before->tick.value() + 1 == state.tick.value() && input.manifest.ring.blockTokens <= 1;
  const bool whole = oneToken && state.brightness.size() == state.context.size() &&
      input.before->brightness.size() == input.before->context.size();
  if (whole && input.manifest.probes && !state.kind->derivesContext() && findings.count() == 0 &&
      generated(input))  // then the tick has observed attention
    checkLaw(input, findings);
}

}  // namespace kvlab
