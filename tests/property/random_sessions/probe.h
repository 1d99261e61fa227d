// SPDX-License-Identifier: Apache-2.0
// The view of a session that the oracles have: the only file here, with actions.cpp, that knows more of one than its
// verbs. Engine thread.
#pragma once
#include <string>

#include "core/verbs/verbs.h"

namespace kvlab::random_sessions {

/// The state that a refused call or a reading call leaves as it is.
struct Digest {
  std::string rows;              // state hash without pending actions
  std::string pending;           // the pending actions
  std::string storage;           // the manifest as it is now, and the capacity
  int entries = 0, current = 0;  // entries of the timeline, and the current one
  std::int64_t tick = 0;
  bool broken = false;

  bool operator==(const Digest&) const = default;
};
Digest digestOf(const Session& session);
/// In one word for each part that differs: "rows history".
std::string difference(const Digest& before, const Digest& after);

std::string hashOf(const Session& session);

/// Slots of the layers that hand out any free slot: "" or the error. Each slot is free, or the history keeps a state
/// that names it, or the history gives it back later; a slot that a kept state names is not free.
std::string slotsAmiss(const Session& session);

}  // namespace kvlab::random_sessions
