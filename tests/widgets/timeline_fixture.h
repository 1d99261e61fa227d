// SPDX-License-Identifier: GPL-3.0-or-later
// Replies to the verb `timeline`: of a history that is built commit by commit as the engine's is, of the fixture
// session with three branches, and of a very long one. Values.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab::fixture {

class Branching {
 public:
  /// A commit at a tick below the current entry; `words` is empty for one that only generates. Opens a branch where the
  /// current entry is not the tip.
  int commit(std::int64_t tick, const std::string& sort = "ticks", const std::string& words = {}, int left = 0);
  /// Goes to an entry of a branch, which becomes the current one.
  void goTo(int entry, int branch);
  nlohmann::json reply(int since, bool packed = false) const;

  struct Entry {
    int parent = -1, edit = 0, left = 0;
    std::int64_t tick = 0;
    std::string sort, words;
  };
  struct Branch {
    std::string name;
    int tip = 0;
  };
  std::vector<Entry> entries = {{}};
  std::vector<Branch> branches = {{"main", 0}};
  int current = 0, branch = 0, starts = 1;
  int keptFrom = 0;  // older entries have lost their states
};

/// The way of the fixture session with the branches beside it: a rewrite, a rebuild and another policy.
Branching branched(const std::vector<SnapshotPtr>& history);
/// So many commits on so many branches, each third tick an edit.
Branching longHistory(int commits, int branches);
/// So many commits on branches of the same length that all part at the opening, with an edit in every so many ticks.
Branching wideHistory(int commits, int branches, int every);

}  // namespace kvlab::fixture
