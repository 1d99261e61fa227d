// SPDX-License-Identifier: Apache-2.0
// Brightness stays between 0 and its maximum, and is a number. Where a tick has generated a token, the brightness of
// every token that was there before is what attention makes of it. semantics.md, section 4.
#include <algorithm>
#include <cmath>

#include "core/check/checks.h"
#include "core/check/findings.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

/// Attention of the newest query of a state to each token in the last layer, mean over its heads, [length]; empty where
/// the query saw tokens that have left the context.
std::vector<double> newestMass(const CacheState& state) {
  std::vector<double> out(state.context.size());
  const NewestAttention* all = state.attention.get();
  if (!all || all->mass.size() != state.groupOf.size() || all->maps.size() != all->mass.size()) return out;
  const CacheLayers layers = state.cacheLayers();
  for (const CacheLayer layer : layers.of(layers.last())) {
    if (!all->maps[at(layer)]) return {};
    const std::vector<float>& mass = all->mass[at(layer)];
    const Column<LedgerId>& seen = all->maps[at(layer)]->ledger;
    std::size_t row = 0;  // a map is a part of the context, in its order
    for (std::size_t p = 0; p < out.size() && row < std::min(seen.size(), mass.size()); ++p)
      if (seen[row] == state.context[p]) out[p] += static_cast<double>(mass[row++]) / layers.perLayer;
    if (row < seen.size()) return {};
  }
  return out;
}

void checkLaw(const CheckInput& input, Findings& findings) {
  const CacheState &was = *input.before, &is = input.state;
  const BrightnessSettings& b = input.manifest.brightness;
  const std::vector<double> mass = newestMass(was);
  std::size_t old = 0;  // both contexts are in the same order
  for (std::size_t p = 0; p < is.context.size() && !mass.empty(); ++p) {
    if (is.context[p] >= was.ledger.nextId()) continue;
    while (old < was.context.size() && was.context[old] != is.context[p]) ++old;
    if (old == was.context.size()) return;
    const double wanted =
        std::clamp(static_cast<double>(was.brightness[old]) - b.decay + b.gain * mass[old], 0.0, double{b.max});
    const auto got = static_cast<double>(is.brightness[p]);
    if (std::abs(got - wanted) > 1e-3 * (1 + wanted))
      findings.add({{}, p, is.context[p]},
                   "position " + std::to_string(p) + ": brightness " + std::to_string(got) +
                       " is not what the newest attention makes of it, " + std::to_string(wanted));
  }
}

}  // namespace

void checkBrightnessRange(const CheckInput& input, std::vector<Violation>& out) {
  Findings findings("brightness_range", out);
  const CacheState& state = input.state;
  const auto max = static_cast<float>(input.manifest.brightness.max);
  for (std::size_t i = 0; i < state.brightness.size(); ++i) {
    const float b = state.brightness[i];
    if (b >= 0 && b <= max) continue;
    Place place{{}, i, {}};
    if (i < state.context.size()) place.ledger = state.context[i];
    findings.add(place,
                 "position " + std::to_string(i) + ": brightness " + std::to_string(b) + " is outside 0 .. " +
                     std::to_string(max));
  }
  // Of ticks alone, which make passes. A pass that brings stale logits brings attention, too, and that is not kept.
  const bool oneToken = !input.deeds.empty() && input.before && !input.before->logitsStale &&
      input.before->tick.value() + 1 == state.tick.value() && input.manifest.ring.blockTokens <= 1;
  const bool whole = oneToken && state.brightness.size() == state.context.size() &&
      input.before->brightness.size() == input.before->context.size();
  if (whole && input.manifest.probes && !state.wlod && findings.count() == 0 &&
      generated(input))  // then the tick has observed attention
    checkLaw(input, findings);
}

}  // namespace kvlab
