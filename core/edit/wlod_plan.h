// SPDX-License-Identifier: Apache-2.0
// Resolves and checks a whole action list against a wLOD state; nothing changes. Positions are entries of the
// working context. A bad list is refused whole. semantics.md, sections 3 and 8. Pure; engine thread.
//
// Legal: expand, collapse, add; replacing n tokens by n; whatever happens within the incomplete tail. Edits that
// would move later moments are refused (breaks_alignment). A text that does not fit as tokens, however much is
// collapsed, starts cold: the whole time line is tiled anew (cold_start.h).
#pragma once
#include <vector>

#include "core/edit/edit_plan.h"
#include "core/state/wlod_state.h"

namespace kvlab {

struct WlodPlan {
  struct Content {
    Moment moment;
    TokenId token;
    int place = 0;  // in the list
  };
  /// A token of the tail after the edit: one that was there, or a new one.
  struct TailToken {
    std::int32_t before = -1;  // moment; -1 = new
    TokenId token;
    std::int32_t replaces = -1;  // moment of the one whose place a new one takes
  };

  std::vector<Action> actions;
  std::vector<Content> replaced;  // ascending moments, outside the tail
  bool tailChanges = false;
  std::vector<TailToken> tail;  // from tailBegin() on, where it changes or grows
  std::int32_t kept = 0;        // of the tail, the first ones that stay
  WorkingContext context;       // after
  std::vector<TimelineChange> changes;
  std::int32_t earliest = 0;  // moment from which on rows are computed
  std::int32_t added = 0;     // the last tokens of the tail are appended
};

/// The same as plans of other sessions are told: positions are entries, rows and `stale` are computed anew.
EditPlan asEditPlan(const WlodState& state, const WlodPlan& plan);

/// vocab: ids below it are tokens.
Result<WlodPlan> planWlod(const WlodState& state, std::int32_t vocab, std::vector<Action> actions);

}  // namespace kvlab
