// SPDX-License-Identifier: Apache-2.0
#include "core/session/anchor.h"

#include "core/parts/cache_kind.h"
#include "core/parts/storage_plan.h"
#include "core/session/settings.h"
#include "core/session/storage.h"

namespace kvlab {

std::int64_t anchorRowBytes(const SessionParts& parts, const CacheState& state) {
  std::int64_t bytes = 0;
  for (const CacheLayer layer : parts.store.layers())
    bytes += parts.store.pool(layer).stride() * static_cast<std::int64_t>(state.map(layer).resident());
  return bytes;
}

std::shared_ptr<const Anchor> takeAnchor(const SessionParts& parts, const CacheState& state) {
  Anchor out{state, parts.manifest, rowsIn(parts, state)};
  for (const auto& rows : out.rows) out.bytes += std::ssize(rows);
  return std::make_shared<const Anchor>(std::move(out));
}

Status restock(SessionParts& parts, const Manifest& wanted) {
  KV_TRY(takeManifest(parts, wanted));
  parts.capacity = parts.kind->sizes(wanted, parts.model->config()).capacity;
  return freshStorage(parts);
}

Status returnTo(SessionParts& parts, const Anchor& anchor) {
  KV_TRY(restock(parts, anchor.manifest));
  parts.layouts.restart(parts.store, anchor.state);
  writeRows(parts, anchor.state, anchor.rows);
  return ok();
}

}  // namespace kvlab
