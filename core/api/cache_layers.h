// SPDX-License-Identifier: Apache-2.0
// A cache layer has one residency map and one row pool. It is a layer of the model with all its KV heads, or, where the
// manifest asks for residency by KV head, one KV head of a layer. Maps, pools, layouts, tiles and audits count cache
// layers (CacheLayer). Forward passes, windows, gates, and the numbers in manifests and actions count layers of the
// model (Layer). Values; any thread.
#pragma once
#include <optional>
#include <string>

#include "core/api/ids.h"

namespace kvlab {

struct CacheLayers {
  int layers = 0;    // layers of the model
  int perLayer = 1;  // 1, or the KV heads of a layer

  int count() const { return layers * perLayer; }
  bool byHead() const { return perLayer > 1; }
  auto each() const { return idRange<CacheLayer>(0, count()); }
  auto ofModel() const { return idRange<Layer>(0, layers); }
  Layer last() const { return Layer(layers - 1); }
  /// The cache layers of a layer, by head.
  auto of(Layer layer) const { return idRange<CacheLayer>(layer.value() * perLayer, (layer.value() + 1) * perLayer); }
  Layer layerOf(CacheLayer own) const { return Layer(own.value() / perLayer); }
  /// The place among the cache layers of its layer.
  int partOf(CacheLayer own) const { return own.value() % perLayer; }
  /// The head of the cache layer; none where the cache layer has all heads.
  std::optional<Head> headOf(CacheLayer own) const {
    return byHead() ? std::optional(Head(partOf(own))) : std::nullopt;
  }
  /// The cache layer with the rows of a cache layer of `finer`, which divides the same model alike or by KV head.
  CacheLayer with(CacheLayer own, const CacheLayers& finer) const {
    return of(finer.layerOf(own))[byHead() ? finer.partOf(own) : 0];
  }
  /// "3", or "3.1" for a head of layer 3.
  std::string name(CacheLayer own) const {
    const std::string layer = std::to_string(layerOf(own).value());
    return byHead() ? layer + "." + std::to_string(partOf(own)) : layer;
  }
};

}  // namespace kvlab
