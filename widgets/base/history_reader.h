// SPDX-License-Identifier: GPL-3.0-or-later
// Reads each snapshot of a history, or of the part of it within the limits of the ticks, once: while the history grows
// at its end and forgets its oldest ticks. GUI thread.
#pragma once
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

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

  /// Keeps one column for each snapshot: adds those that are new, made by `make(snapshot, columns before it)`, and
  /// drops those that are not in the history any more. A column has the tick of its snapshot.
  template <class Column, class Make>
  void follow(History history, std::vector<Column>& columns, Make make) {
    auto [unread, again] = read(history);
    if (again) columns.clear();
    for (; unread != history.end(); ++unread) {
      while (!columns.empty() && columns.back().tick >= (*unread)->tick) columns.pop_back();  // was published again
      columns.push_back(make(**unread, std::as_const(columns)));
    }
    const auto kept = [&](const Column& column) { return column.tick >= history.front()->tick; };
    columns.erase(columns.begin(), std::ranges::find_if(columns, kept));
  }

 private:
  SnapshotPtr m_last;
  Tick m_first;
};

}  // namespace kvlab
