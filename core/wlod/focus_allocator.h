// SPDX-License-Identifier: Apache-2.0
// Decides which gists to expand and which blocks to collapse, from one score per entry. Candidates are entries
// that score at least `expandAt`, and blocks of 32 siblings whose highest score is at most -`collapseAt`. The
// strongest candidate goes first. An expansion that does not fit lets the strongest collapse go first, and is refused
// where no collapse is left. Every candidate gets a reason. Pure; any thread.
#pragma once
#include <span>
#include <vector>

#include "core/api/wlod_view.h"
#include "core/wlod/working_context.h"

namespace kvlab {

struct FocusRules {
  double expandAt = 0.2, collapseAt = 0.2;
  std::int32_t edits = 4;  // per round
};

struct Refocus {
  FocusRound round;
  std::vector<LodEdit> edits;  // WorkingContext::edited() takes them
};

/// scores: [cost] in (-1, 1). Error bad_scores names the first wrong score, or the wrong number of scores.
Result<Refocus> refocus(const WorkingContext& context, std::span<const double> scores, const FocusRules& rules,
                        const WorkingRules& working);

/// Collapses the weakest blocks, whatever their scores, until `entries` more entries fit: first those whose cooldown is
/// over, then the others; gists whose 32 siblings stand side by side by then, too.
/// Errors: bad_scores; over_budget where no block is left that may collapse.
Result<Refocus> makeRoom(const WorkingContext& context, std::span<const double> scores, std::int32_t entries,
                         const WorkingRules& working);

}  // namespace kvlab
