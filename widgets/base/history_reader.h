// SPDX-License-Identifier: GPL-3.0-or-later
// Reads each snapshot of a history, or of the part of it within the limits of the ticks, once: while the history grows
// at its end and forgets its oldest ticks. GUI thread.
#pragma once
#include <algorithm>
#include <span>
#include <utility>

#include "core/api/snapshot.h"

namespace kvlab {

class HistoryReader {
 public:
  using History = std::span<const SnapshotPtr>;
  struct Unread {
    History::iterator first;  // the snapshots from here on are new
    bool again = false;       // snapshots read before are not valid any more: all are unread
  };

  /// The snapshots that are new since the last call. Snapshots ascend by tick; a tick may be published again.
  Unread read(History history) {
    const SnapshotPtr last = std::exchange(m_last, history.empty() ? nullptr : history.back());
    const Tick first = std::exchange(m_first, history.empty() ? Tick(0) : history.front()->tick);
    if (!last || m_first < first) return {history.begin(), true};
    const auto earlier = [](const SnapshotPtr& one, Tick tick) { return one->tick < tick; };
    auto at = std::lower_bound(history.begin(), history.end(), last->tick, earlier);
    while (at != history.end() && *at != last && (*at)->tick == last->tick) ++at;
    if (at == history.end() || *at != last) return {history.begin(), true};
    return {at + 1, false};
  }

 private:
  SnapshotPtr m_last;
  Tick m_first;
};

}  // namespace kvlab
