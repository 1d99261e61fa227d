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

std::vector<Position> dimmestPairs(const CacheState& state, int count, const std::function<bool(Position)>& taken) {
  std::vector<bool> eligible(state.context.size(), false);  // resident in some head of the last layer
  for (const CacheLayer layer : state.cacheLayers().of(state.cacheLayers().last())) {
    const ResidencyView& map = state.map(layer);
    for (std::size_t p = 0, i = 0; p < eligible.size() && i < map.size(); ++p)
      if (state.context[p] == map.ledger[i] && map.has(i++)) eligible[p] = true;
  }
  for (std::size_t p = 0; p < eligible.size(); ++p)
    eligible[p] =
        eligible[p] && !state.ledger[state.context[p]].pinned && !taken(Position(static_cast<std::int32_t>(p)));
  std::vector<std::int32_t> pairs;
  for (std::size_t p = 0; p + 1 < eligible.size(); ++p)
    if (eligible[p] && eligible[p + 1]) pairs.push_back(static_cast<std::int32_t>(p));
  const auto score = [&](std::int32_t p) { return std::max(state.brightness[at(p)], state.brightness[at(p + 1)]); };
  std::stable_sort(pairs.begin(), pairs.end(), [&](auto a, auto b) { return score(a) < score(b); });
  std::vector<Position> chosen;
  for (std::int32_t p : pairs) {
    if (static_cast<int>(chosen.size()) >= count) break;
    const bool overlaps =
        std::any_of(chosen.begin(), chosen.end(), [&](Position c) { return std::abs(c.value() - p) <= 1; });
    if (!overlaps) chosen.push_back(Position(p));
  }
  return chosen;
}

}  // namespace kvlab
