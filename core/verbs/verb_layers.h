// SPDX-License-Identifier: Apache-2.0
// What verbs that look at layers share. Engine thread.
#pragma once
#include "core/api/finite.h"
#include "core/session/session.h"
#include "core/verbs/verb_args.h"

namespace kvlab {

/// As tables have them; the session knows how many there are.
inline constexpr std::int64_t kMostLayer = 1 << 20;
inline ArgInfo layerArg() { return arg::integer("layer", 0, kMostLayer); }
inline ArgInfo headArg() { return arg::integer("kvHead", 0, kMostLayer).orNone(); }

/// The cache layer of a layer and, where residency is by KV head, a head of it.
inline CacheLayer layerOf(VerbArgs& in, const Session& session) {
  const CacheLayers& layers = session.cacheLayers();
  const auto own = layers.of(Layer(static_cast<std::int32_t>(in.within("layer", 0, layers.last().value()))));
  if (!layers.byHead() && !in.has("kvHead")) return own.front();
  return own[in.within("kvHead", 0, layers.perLayer - 1)];
}

}  // namespace kvlab
