// SPDX-License-Identifier: Apache-2.0
// An anchor: a state of a session with a copy of its rows, from which history executes commands again instead of from
// the start. It stands in no pool, so it outlives a change of storage. Sessions on one thread share anchors; engine
// thread.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/api/manifest.h"
#include "core/parts/session_parts.h"

namespace kvlab {

struct Anchor {
  CacheState state;
  Manifest manifest;                            // storage and rules at that time
  std::vector<std::vector<std::uint8_t>> rows;  // [layers][rows, stride] records in the slots that the state holds
  std::int64_t bytes = 0;                       // size of the rows
};

/// Bytes of the rows that an anchor of a state would have.
std::int64_t anchorRowBytes(const SessionParts& parts, const CacheState& state);
/// Copies the rows of the present state.
std::shared_ptr<const Anchor> takeAnchor(const SessionParts& parts, const CacheState& state);
/// Storage as another manifest of the same session wants it, empty. Errors: out_of_memory; the pools may be empty then.
Status restock(SessionParts& parts, const Manifest& wanted);
/// Gives the session the anchor's storage, with its rows in their slots and all other slots free. Errors: as
/// restock().
Status returnTo(SessionParts& parts, const Anchor& anchor);

}  // namespace kvlab
