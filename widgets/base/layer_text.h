// SPDX-License-Identifier: GPL-3.0-or-later
// Layers in words that are the same in every view: their names, and the rows that each holds. Also the arguments of
// verbs that name layers (core/api/cache_layers.h). Pure functions of a snapshot; any thread.
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

/// The number of rows that each layer holds, and its limit. The number of tokens in the context is another number.
/// "95 of 1 024 rows a layer", "64 of 64 rows a layer, window", "24 to 95 rows a layer" where layers differ.
QString layerRowsText(const Snapshot& snapshot);
/// A line for each run of layers with the same figures: "layers 0, 1: 95 of 1 024 rows (capacity of the pools)".
QString layerRowsTip(const Snapshot& snapshot);

}  // namespace kvlab
