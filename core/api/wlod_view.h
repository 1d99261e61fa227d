// SPDX-License-Identifier: Apache-2.0
// What the focus allocator of a wLOD session did and why, round by round. Values; any thread.
#pragma once
#include <string>
#include <vector>

#include "core/api/ids.h"
#include "core/api/tree_node.h"

namespace kvlab {

/// A candidate of a round, and what became of it.
struct FocusDecision {
  TreeNode node;
  bool expand = true;
  double score = 0;
  bool done = false;
  std::string code;    // accepted, makes_room, edit_limit, over_budget, overlap, cooldown, protected_tail
  std::string reason;  // one sentence with the figures
};

struct FocusRound {
  std::int32_t round = 0;
  Tick tick;
  std::int32_t length = 0, budget = 0, before = 0, after = 0;  // moments; entries
  std::vector<FocusDecision> decisions;  // in the order they were made
  std::int32_t unlisted = 0;             // more candidates behind the limit of edits
};

}  // namespace kvlab
