// SPDX-License-Identifier: Apache-2.0
// What the oracles see of a session: the only file here, with actions.cpp, that knows more of one than its verbs.
// Engine thread.
#pragma once
#include <string>

#include "core/verbs/verbs.h"

namespace kvlab::random_sessions {

/// What a refused call and a reading call leave as it is.
struct Digest {
  std::string rows;              // state hash without pending actions
  std::string pending;           // the pending actions
  std::string storage;           // the manifest as it is now, and the capacity
  int entries = 0, current = 0;  // of the timeline
  std::int64_t tick = 0;
  bool broken = false;

  bool operator==(const Digest&) const = default;
};
Digest digestOf(const Session& session);
/// In one word for each part that differs: "rows history".
std::string difference(const Digest& before, const Digest& after);

std::string hashOf(const Session& session);

/// Slots of the layers that hand out any free slot: "" or what is wrong. Each slot is free, or the history keeps a
/// state that names it, or the history gives it back later; a slot that a kept state names is not free.
std::string slotsAmiss(const Session& session);

}  // namespace kvlab::random_sessions
