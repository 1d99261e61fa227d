// SPDX-License-Identifier: Apache-2.0
#include "core/session/in_call.h"

namespace kvlab {

void freeUnnamed(Session& session) {
  SessionParts& parts = session.parts();
  if (parts.layouts.inPlace()) return parts.layouts.restart(parts.store, session.state());
  LayerSlots named = parts.layouts.heldBy(session.state());
  const LayerSlots older = session.timeline().held(session.history().pools(), parts.store.layers().size(), 0).slots;
  for (const CacheLayer layer : parts.store.layers()) {
    std::vector<Slot>& own = named[at(layer)];
    own.insert(own.end(), older[at(layer)].begin(), older[at(layer)].end());
    parts.store.slots(layer).restart(own);
  }
}

bool regain(Session& session) {
  if (!session.parts().store.putBack()) return false;
  freeUnnamed(session);
  return true;
}

}  // namespace kvlab
