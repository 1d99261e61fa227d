// SPDX-License-Identifier: Apache-2.0
// Arguments of verbs that read layers. Engine thread.
#pragma once
#include "core/api/finite.h"
#include "core/session/session.h"
#include "core/verbs/verb_args.h"

namespace kvlab {

/// Bound in argument tables; layerOf() checks the session's own number of layers.
inline constexpr std::int64_t kMostLayer = 1 << 20;
inline ArgInfo layerArg() { return arg::integer("layer", 0, kMostLayer); }
inline ArgInfo headArg() { return arg::integer("kvHead", 0, kMostLayer).orNone(); }

/// Reads a layer, and a KV head if residency is by KV head; returns the cache layer.
inline int layerOf(VerbArgs& in, const Session& session) {
  const int parts = session.state().perLayer;
  const auto layer = static_cast<int>(in.within("layer", 0, session.state().layers() / parts - 1));
  if (parts == 1 && !in.has("kvHead")) return layer;
  return layer * parts + static_cast<int>(in.within("kvHead", 0, parts - 1));
}

}  // namespace kvlab
