// SPDX-License-Identifier: Apache-2.0
#include "core/parts/session_parts.h"

#include "core/parts/cache_kind.h"
#include "core/parts/storage_plan.h"

namespace kvlab {

SessionParts::SessionParts() = default;
SessionParts::SessionParts(SessionParts&&) noexcept = default;
SessionParts& SessionParts::operator=(SessionParts&&) noexcept = default;
SessionParts::~SessionParts() = default;

CacheState emptyContent(const SessionParts& parts) {
  CacheState state;
  state.perLayer = parts.cacheLayers.perLayer;
  parts.layouts.start(state, windowsOf(parts));
  parts.kind->start(parts, state);
  state.random = {parts.manifest.sampling.seed, 0};
  return state;
}

CacheState emptyState(SessionParts& parts) {
  CacheState state = emptyContent(parts);
  parts.layouts.restart(parts.store, state);
  parts.store.log() = {};
  return state;
}

}  // namespace kvlab
