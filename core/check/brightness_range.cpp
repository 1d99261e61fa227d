// SPDX-License-Identifier: Apache-2.0
// Brightness stays between 0 and its maximum, and is a number. Where a tick has observed attention, the brightness of
// every token that was there before is what attention makes of it. semantics.md, section 4.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/check/checks.h"
#include "core/check/findings.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

/// Attention of the newest query of a state to each row in the last layer, mean over its heads.
std::unordered_map<std::int32_t, double> newestMass(const CacheState& state) {
  std::unordered_map<std::int32_t, double> out;
  if (!state.attention || state.attention->mass.size() != state.groupOf.size()) return out;
  const CacheLayers layers = state.cacheLayers();
  for (const CacheLayer layer : layers.of(layers.last())) {
    const std::vector<float>& mass = state.attention->mass[at(layer)];
    const ResidencyView& seen = *state.attention->maps[at(layer)];
    for (std::size_t i = 0; i < std::min(seen.size(), mass.size()); ++i)
      out[seen.ledger[i].value()] += static_cast<double>(mass[i]) / layers.perLayer;
  }
  return out;
}

void checkLaw(const CheckInput& input, Findings& findings) {
  const CacheState &was = *input.before, &is = input.state;
  const BrightnessSettings& b = input.manifest.brightness;
  std::unordered_map<std::int32_t, double> mass;
  std::vector<std::pair<std::size_t, double>> wanted;  // position, brightness
  bool observed = false;
  for (std::size_t p = 0, old = 0; p < is.context.size() && old < was.context.size(); ++p) {
    if (is.context[p] >= was.ledger.nextId()) continue;
    std::size_t same = old;  // both are in the same order
    while (same < was.context.size() && was.context[same] != is.context[p]) ++same;
    if (same == was.context.size()) continue;
    if (mass.empty()) mass = newestMass(was);
    const auto before = static_cast<double>(was.brightness[same]);
    const auto seen = mass.find(is.context[p].value());
    wanted.emplace_back(
        p, std::clamp(before - b.decay + b.gain * (seen == mass.end() ? 0 : seen->second), 0.0, double{b.max}));
    observed = observed || was.brightness[same] != is.brightness[p];
    old = same + 1;
  }
  for (const auto& [p, value] : wanted) {
    const auto got = static_cast<double>(is.brightness[p]);
    if (!observed || std::abs(got - value) <= 1e-3 * (1 + std::abs(value))) continue;
    findings.add({{}, p, is.context[p]},
                 "position " + std::to_string(p) + ": brightness " + std::to_string(got) +
                     " is not what the newest attention makes of it, " + std::to_string(value));
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
  // A pass that brings stale logits brings attention, too, and that is not kept.
  const bool oneToken = input.before && !input.before->logitsStale &&
      input.before->tick.value() + 1 == state.tick.value() && input.manifest.ring.blockTokens <= 1;
  const bool whole = oneToken && state.brightness.size() == state.context.size() &&
      input.before->brightness.size() == input.before->context.size();
  if (whole && input.manifest.probes && !state.wlod && findings.count() == 0) checkLaw(input, findings);
}

}  // namespace kvlab
