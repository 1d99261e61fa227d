// SPDX-License-Identifier: Apache-2.0
// Brightness is a number between 0 and its maximum. If a tick has generated a token, the brightness of every older
// token follows from its attention, and culling used these values. semantics.md, section 4.
#include <algorithm>
#include <cmath>
#include <span>

#include "core/check/checks.h"
#include "core/check/map_walk.h"

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

}  // namespace

void checkBrightnessRange(const CheckInput& input, std::vector<Violation>& out) {
  Findings findings("brightness_range", out);
  const CacheState& state = input.state;
  const auto max = static_cast<float>(input.manifest.brightness.max);
  const std::span<const float> bright = state.brightness.span();
  for (std::size_t i = allWithin(bright, max) ? bright.size() : 0; i < bright.size(); ++i) {
    const float b = bright[i];
    if (b >= 0 && b <= max) continue;
    Place place{{}, i, {}};
    if (i < state.context.size()) place.ledger = state.context[i];
    findings.add(place,
                 "position " + std::to_string(i) + ": brightness " + std::to_string(b) + " is outside 0 .. " +
                     std::to_string(max));
  }
  if (input.manifest.ring.blockTokens <= 1 && findings.count() == 0 &&
      state.brightness.size() == state.context.size() && edited(input))
    checkStart(input, findings);
  if (input.culled && input.before && findings.count() == 0) checkCulledPairs(input, findings);
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
