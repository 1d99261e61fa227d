// SPDX-License-Identifier: Apache-2.0
// A cache layer has one residency map and one row pool. It is a layer of the model with all its KV heads, or, where the
// manifest asks for residency by KV head, one KV head of a layer. Maps, pools, layouts, tiles and audits count cache
// layers. Forward passes, windows, gates, and the numbers in manifests and actions count layers of the model.
// Values; any thread.
#pragma once
#include <optional>
#include <string>

#include "core/api/ids.h"

namespace kvlab {

struct CacheLayers {
  int layers = 0;    // of the model
  int perLayer = 1;  // 1, or the KV heads of a layer

  int count() const { return layers * perLayer; }
  bool byHead() const { return perLayer > 1; }
  Layer layerOf(Layer own) const { return Layer(own.value() / perLayer); }
  /// The head of the cache layer; none where the cache layer has all heads.
  std::optional<Head> headOf(Layer own) const {
    return byHead() ? std::optional(Head(own.value() % perLayer)) : std::nullopt;
  }
  /// "3", or "3.1" for a head of layer 3.
  std::string name(Layer own) const {
    return byHead() ? std::to_string(own.value() / perLayer) + "." + std::to_string(own.value() % perLayer)
                    : std::to_string(own.value());
  }
};

}  // namespace kvlab
