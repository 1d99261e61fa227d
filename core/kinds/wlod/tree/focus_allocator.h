// SPDX-License-Identifier: Apache-2.0
// Chooses gists to expand and blocks to collapse, from one score per entry. Candidates are entries with a score of at
// least `expandAt`, and blocks of 32 siblings whose highest score is at most -`collapseAt`. The strongest candidate
// comes first. An expansion that does not fit is preceded by the strongest collapse; without such a collapse it is
// refused. An edit makes every entry behind it dirty, so early edits wait for a round that takes them together. Every
// candidate gets a reason. Pure; any thread.
#pragma once
#include <span>
#include <vector>

#include "core/api/wlod_view.h"
#include "core/kinds/wlod/tree/working_context.h"

namespace kvlab {

struct FocusRules {
  double expandAt = 0.2, collapseAt = 0.2;
  std::int32_t edits = 4;     // per round
  double dirty = 1;           // share of the entries that an edit of an ordinary round may make dirty
  std::int32_t patience = 8;  // one round in so many may make more dirty, and takes so many times the edits
};

struct Refocus {
  FocusRound round;
  std::vector<LodEdit> edits;  // arguments for WorkingContext::edited()
};

/// scores: [cost] in (-1, 1). Error bad_scores names the first wrong score or the wrong length.
Result<Refocus> refocus(const WorkingContext& context, std::span<const double> scores, const FocusRules& rules,
                        const WorkingRules& working);

/// Collapses the weakest blocks, whatever their scores, until `entries` more entries fit. Blocks that make more dirty
/// than `rules.dirty` come behind the others, blocks in cooldown come last. Collapsed blocks may be collapsed further,
/// together with their 31 siblings. Errors: bad_scores; over_budget if no further block may collapse.
Result<Refocus> makeRoom(const WorkingContext& context, std::span<const double> scores, std::int32_t entries,
                         const FocusRules& rules, const WorkingRules& working);

}  // namespace kvlab
