// SPDX-License-Identifier: GPL-3.0-or-later
// Reads each snapshot of a history once, while the history grows at its end and forgets its oldest ticks. GUI thread.
#pragma once
#include <algorithm>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

class HistoryReader {
 public:
  struct Unread {
    std::vector<SnapshotPtr>::const_iterator first;  // the snapshots from here on are new
    bool again = false;                              // what was read before is not valid any more: all are unread
  };

  /// What is new since the last call. Snapshots ascend by tick; a tick may be published again.
  Unread read(const std::vector<SnapshotPtr>& history) {
    const SnapshotPtr last = std::exchange(m_last, history.empty() ? nullptr : history.back());
    if (!last) return {history.begin(), true};
    const auto earlier = [](const SnapshotPtr& one, Tick tick) { return one->tick < tick; };
    auto at = std::lower_bound(history.begin(), history.end(), last->tick, earlier);
    while (at != history.end() && *at != last && (*at)->tick == last->tick) ++at;
    if (at == history.end() || *at != last) return {history.begin(), true};
    return {at + 1, false};
  }

 private:
  SnapshotPtr m_last;
};

}  // namespace kvlab
