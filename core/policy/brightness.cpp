// SPDX-License-Identifier: Apache-2.0
#include "core/policy/brightness.h"

#include <algorithm>

namespace kvlab {
namespace {

/// Attention of the newest query in the last layer by context position, mean over its heads; 0 for tokens that are not
/// resident there.
std::vector<float> newestMass(const CacheState& state) {
  std::vector<float> mass(state.context.size(), 0.0f);
  if (!state.attention || state.attention->mass.empty()) return mass;
  const CacheLayers layers = state.cacheLayers();
  const auto parts = static_cast<float>(layers.perLayer);
  for (const CacheLayer layer : layers.of(layers.last())) {
    const std::vector<float>& last = state.attention->mass[at(layer)];
    const std::span<const LedgerId> seen = state.attention->maps[at(layer)]->ledger.span(),
                                    context = state.context.span();
    // Both are in context order, so one walk matches them.
    std::size_t position = 0;
    for (std::size_t i = 0; i < seen.size() && i < last.size(); ++i) {
      std::size_t p = position;
      while (p < mass.size() && context[p] != seen[i]) ++p;
      if (p == mass.size()) continue;
      mass[p] += last[i] / parts;
      position = p + 1;
    }
  }
  return mass;
}

}  // namespace

Column<float> observedBrightness(const CacheState& state, const BrightnessSettings& settings) {
  const std::vector<float> mass = newestMass(state);
  const auto decay = static_cast<float>(settings.decay), gain = static_cast<float>(settings.gain);
  const auto most = static_cast<float>(settings.max);
  return Column<float>::make(mass.size(), [&](float* out) {
    const std::span<const float> before = state.brightness.span();
    for (std::size_t i = 0; i < mass.size(); ++i) out[i] = std::clamp(before[i] - decay + gain * mass[i], 0.0f, most);
  });
}

int cullCount(std::int32_t length, int target) { return length < target ? 0 : length == target ? 1 : 2; }

namespace {

/// [length] tokens that some head of the last layer holds.
std::vector<bool> residentInLast(const CacheState& state) {
  std::vector<bool> out(state.context.size(), false);
  for (const CacheLayer layer : state.cacheLayers().of(state.cacheLayers().last())) {
    const ResidencyView& map = state.map(layer);
    for (std::size_t p = 0, i = 0; p < out.size() && i < map.size(); ++p)
      if (state.context[p] == map.ledger[i] && map.has(i++)) out[p] = true;
  }
  return out;
}

}  // namespace

std::vector<CulledPairNote> dimmestPairs(const CacheState& state, int count,
                                         const std::function<bool(Position)>& taken) {
  constexpr std::size_t kMostPassedOver = 16;  // rows that have left the last layer are many, and dim
  const std::vector<bool> resident = residentInLast(state);
  std::vector<std::int32_t> pairs;
  for (std::int32_t p = 0; p + 1 < state.length(); ++p) pairs.push_back(p);
  const auto score = [&](std::int32_t p) { return std::max(state.brightness[at(p)], state.brightness[at(p + 1)]); };
  std::stable_sort(pairs.begin(), pairs.end(), [&](auto a, auto b) { return score(a) < score(b); });
  const auto either = [](std::int32_t p, const auto& holds) { return holds(p) || holds(p + 1); };
  std::vector<std::int32_t> chosen;
  const auto outcomeOf = [&](std::int32_t p) {
    if (static_cast<int>(chosen.size()) >= count) return CullOutcome::Enough;
    if (either(p, [&](std::int32_t i) { return state.ledger[state.context[at(i)]].pinned; }))
      return CullOutcome::Pinned;
    if (either(p, [&](std::int32_t i) { return taken(Position(i)); })) return CullOutcome::Listed;
    if (either(p, [&](std::int32_t i) { return !resident[at(i)]; })) return CullOutcome::NotResident;
    if (std::ranges::any_of(chosen, [&](std::int32_t c) { return std::abs(c - p) <= 1; })) return CullOutcome::Overlaps;
    return CullOutcome::Culled;
  };
  std::vector<CulledPairNote> out;
  for (const std::int32_t p : pairs) {
    const CullOutcome outcome = outcomeOf(p);
    if (outcome == CullOutcome::Culled) chosen.push_back(p);
    if (outcome == CullOutcome::Culled || out.size() - chosen.size() < kMostPassedOver)
      out.push_back({Position(p), {state.context[at(p)], state.context[at(p + 1)]}, score(p), outcome});
    if (outcome == CullOutcome::Enough) break;
  }
  return out;
}

}  // namespace kvlab
