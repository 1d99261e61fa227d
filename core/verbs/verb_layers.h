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
inline int layerOf(VerbArgs& in, const Session& session) {
  const int parts = session.state().perLayer;
  const auto layer = static_cast<int>(in.within("layer", 0, session.state().layers() / parts - 1));
  if (parts == 1 && !in.has("kvHead")) return layer;
  return layer * parts + static_cast<int>(in.within("kvHead", 0, parts - 1));
}

}  // namespace kvlab
