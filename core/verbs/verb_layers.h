// SPDX-License-Identifier: Apache-2.0
// Arguments of verbs that read layers and rows. Engine thread.
#pragma once
#include "core/api/json_values.h"
#include "core/session/session.h"
#include "core/verbs/verb_args.h"

namespace kvlab {

/// Bound in argument tables; layerOf() checks the session's own number of layers.
inline constexpr std::int64_t kMostLayer = 1 << 20;
inline ArgInfo layerArg() { return arg::integer("layer", 0, kMostLayer); }
inline ArgInfo headArg() { return arg::integer("kvHead", 0, kMostLayer).orNone(); }

/// Reads a layer, and a KV head if residency is by KV head; returns the cache layer.
inline CacheLayer layerOf(VerbArgs& in, const Session& session) {
  const CacheLayers& layers = session.cacheLayers();
  const auto own = layers.of(Layer(static_cast<std::int32_t>(in.within("layer", 0, layers.last().value()))));
  if (!layers.byHead() && !in.has("kvHead")) return own.front();
  return own[in.within("kvHead", 0, layers.perLayer - 1)];
}

/// Reads the id of a ledger row.
inline Result<LedgerId> knownRow(const VerbArgs& in, const Session& session, const char* field) {
  const LedgerId id(static_cast<std::int32_t>(in.integer(field)));
  if (session.state().ledger.contains(id)) return id;
  return Error("out_of_range", "the row was not found", "there is no ledger row " + std::to_string(id.value()),
               "the ledger has " + std::to_string(session.state().ledger.size()) + " rows", field, id.value());
}

}  // namespace kvlab
