// SPDX-License-Identifier: GPL-3.0-or-later
// The history of a session as the verb `timeline` tells it: entries as a tree, one lane for each branch, and the ways
// from the opening to a state. Grows with each reply. A value; any thread.
#pragma once
#include <QString>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/api/error.h"
#include "widgets/views/timeline/time_marks.h"

namespace kvlab {

/// The entries of a branch's own; earlier entries lie in the lanes that it parts from.
struct TickLane {
  QString name;
  int tip = 0, from = -1;                                // entries; -1 = the lane has the opening
  std::vector<int> entries = {}, edits = {}, left = {};  // ascending: all, first ones of edits, with rows that left
  std::vector<MarkSort> sorts = {};                      // [edits]
  std::vector<std::pair<std::int64_t, std::int64_t>> kept = {};  // first and last ticks of runs of kept states
};

class TickTree {
 public:
  /// Takes the entries of a reply that begins at size(). False if the reply is about another history, or begins
  /// elsewhere: forget this one and ask from 0. Errors: bad_reply.
  Result<bool> take(const nlohmann::json& reply);
  void clear() { *this = {}; }

  int size() const { return static_cast<int>(m_tick.size()); }
  int current() const { return m_current; }
  /// The lane of the branch that the session is on.
  int lane() const { return m_lane; }
  const std::vector<TickLane>& lanes() const { return m_lanes; }
  int laneOf(int entry) const { return m_laneOf[at(entry)]; }
  std::int64_t tick(int entry) const { return m_tick[at(entry)]; }
  /// Rows that left layers in the entry's tick.
  int left(int entry) const { return m_left[at(entry)]; }
  bool kept(int entry) const;
  std::int64_t lastTick() const { return m_lastTick; }
  /// The effect of an entry's edit and its sort; empty words for one that only generates.
  TimeMark editOf(int entry) const;
  std::size_t edits() const { return m_edits.size(); }

  /// On the way to the tip of a lane the last entry up to a tick; the opening where there is none.
  int entryAt(int lane, std::int64_t tick) const;
  /// The last entry of a lane's own on the way to an entry; -1 = none.
  int onWay(int lane, int last) const;
  /// True if an entry lies on the way to another one.
  bool leadsTo(int entry, int last) const { return onWay(laneOf(entry), last) >= entry; }
  /// On the way to the tip of a lane the nearest tick behind (or before) a tick; `edits`: of an edit.
  std::optional<std::int64_t> tickBeside(int lane, std::int64_t tick, bool behind, bool edits) const;

 private:
  Result<bool> read(const nlohmann::json& reply);
  /// The first `size` entries of a lane's list, which lie on a way.
  struct Stretch {
    const TickLane* lane;
    std::size_t size;
  };
  /// From the end of the way to the opening.
  std::vector<Stretch> way(int last, std::vector<int> TickLane::*list) const;
  Status check(const nlohmann::json& reply, int entries) const;
  void makeLanes(const nlohmann::json& branches);
  void findKept();
  static std::size_t at(int entry) { return static_cast<std::size_t>(entry); }

  std::vector<int> m_parent, m_edit, m_left, m_laneOf;  // [entries]
  std::vector<std::int64_t> m_tick;                     // [entries]
  std::vector<int> m_kept;                              // runs: first, behind the last
  std::vector<std::pair<int, TimeMark>> m_edits;        // ascending by their first entries
  std::vector<TickLane> m_lanes;
  int m_starts = -1, m_current = 0, m_lane = 0;
  std::int64_t m_lastTick = 0;
};

}  // namespace kvlab
