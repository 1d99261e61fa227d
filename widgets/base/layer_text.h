// SPDX-License-Identifier: GPL-3.0-or-later
// Names of layers for people, and arguments of verbs that name layers: core/api/cache_layers.h. GUI thread.
#pragma once
#include <QString>

#include "core/api/snapshot.h"

namespace kvlab {

/// "3", or "3.1" for a KV head of layer 3.
inline QString layerText(const Snapshot& s, CacheLayer own) {
  return s.info ? QString::fromStdString(s.info->cacheLayers.name(own)) : QString::number(own.value());
}

/// Adds the arguments that name a cache layer to `args`.
inline nlohmann::json withLayer(const Snapshot& s, CacheLayer own, nlohmann::json args = nlohmann::json::object()) {
  args["layer"] = s.info ? s.info->cacheLayers.layerOf(own).value() : own.value();
  if (const std::optional<Head> head = s.info ? s.info->cacheLayers.headOf(own) : std::nullopt)
    args["kvHead"] = head->value();
  return args;
}

}  // namespace kvlab
