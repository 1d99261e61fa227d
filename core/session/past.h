// SPDX-License-Identifier: Apache-2.0
// Other states of a session, to be asked while the session stays where it is. A second session, forked when it is first
// needed with the states that lie in the pools, goes through the history instead: its rows are its own, so nothing that
// it does reaches the first one. It is kept, and steps from tick to tick then. Owned by the session; engine thread.
#pragma once
#include <memory>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

class Session;

class Past {
 public:
  Past();
  ~Past();
  /// A session in the state of an entry, whose timeline goes on to the entry `last` at least. It lives until the next
  /// call. Another branch is reached from the entry where both part. Errors: those of Session::fork and
  /// Session::travel; the next call begins anew then.
  Result<Session*> at(const Session& present, int entry, int last = 0);
  /// The next call forks the session anew.
  void forget() { m_entries.clear(); }

 private:
  std::unique_ptr<Session> m_session;
  std::vector<int> m_entries;  // by depth: entries of the present session's timeline that the other one's stand for
  int m_starts = 0;            // starts of that timeline: after a reset the same numbers are other entries
};

}  // namespace kvlab
