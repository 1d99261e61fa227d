// SPDX-License-Identifier: Apache-2.0
// Another layout that would make the session's commits cheaper. Nothing here is a figure of other machines or models:
// - Cost: time and bytes of the `commit` events of the last ticks that moved rows, as far as history keeps them.
// - Trial: the maps before and behind each of these commits go through the code of another layout, over a pool of the
//   smallest rows. That gives the bytes that the layout would have moved, and the time of its work on maps, here.
// - Estimate: the time of the trial, and its bytes at the rate at which the session's own commits moved theirs.
// A layout is not tried where it keeps other rows than the present one (rings, and those that are none), and not
// advised where it would copy rows for each read. Engine thread; semantics.md, section 7.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/api/ids.h"

namespace kvlab {

class Session;

/// Of the last commits that moved rows, all together.
struct CommitCosts {
  int commits = 0;
  double us = 0;           // of the commits
  double tickUs = 0;       // of the ticks that made them
  std::int64_t bytes = 0;  // moved, read and written
};

struct LayoutTrial {
  std::string layout;
  double us = 0;           // without the time for its bytes
  std::int64_t bytes = 0;  // all commits together
};

struct LayoutAdvice {
  std::string layout;  // as manifests write it
  int commits = 0;     // that were measured
  // Of one commit, the mean:
  double ms = 0, wouldMs = 0;
  std::int64_t bytes = 0, wouldBytes = 0;

  std::string text() const;  // "your commits cost 4.0 ms; `indirection` would cost 0.02"
};

CommitCosts commitCosts(const Session& session);
/// None with layouts that differ by layer, or a kind that derives its context: those keep their layouts.
std::vector<LayoutTrial> layoutTrials(const Session& session);
/// The cheapest layout, if changing to it pays: it costs at most half as much, and saves a twentieth of the ticks.
std::optional<LayoutAdvice> adviceFrom(const CommitCosts& costs, const std::vector<LayoutTrial>& trials);
/// All of this. Costs nothing while commits take less than a twentieth of their ticks.
std::optional<LayoutAdvice> layoutAdvice(const Session& session);

}  // namespace kvlab
