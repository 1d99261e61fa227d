// SPDX-License-Identifier: Apache-2.0
#include "core/check/implied_rows.h"

#include "core/model/decoder/transformer.h"

namespace kvlab {

ImpliedRows impliedRows(const ResidencyView& map, std::size_t own, int window) {
  ImpliedRows out{map.first, static_cast<std::int32_t>(own) + 1};
  while (out.begin < out.end - 1 && window > 0 &&
         map.phases[own] - map.phases[static_cast<std::size_t>(out.begin)] >= window)
    ++out.begin;
  return out;
}

/// The manifest's mask, else the model's; a ring lets rows go that it has no room for.
int windowIn(const CheckInput& input, CacheLayer layer) {
  const ModelConfig& config = input.transformer->model().config();
  const Layer of = input.state.cacheLayers().layerOf(layer);
  const int model = config.windowPerLayer.empty() ? config.slidingWindow : config.windowPerLayer[at(of)];
  const int mask = input.manifest.windowOf(of) >= 0 ? input.manifest.windowOf(of) : model;
  const bool ring = input.state.group(layer).ring.has_value();
  const int kept = ring ? input.manifest.ring.window : 0;
  return kept == 0 ? mask : mask == 0 ? kept : std::min(mask, kept);
}

}  // namespace kvlab
