// SPDX-License-Identifier: Apache-2.0
// Resolves and checks a whole action list against a wLOD state, without changing the state. Positions are entries of
// the working context. If an action is wrong, the whole list is refused. semantics.md, sections 3 and 8. Pure; engine
// thread.
//
// Expand, collapse and add are legal, and any edit of tokens that are entries. An edit that changes the number of
// tokens moves later moments: entries keep their places on the time line, and the gists behind the edit are made anew.
// If a text does not fit as tokens even after all collapses, the session starts cold: the whole time line is tiled
// again (coldStart).
#pragma once
#include <vector>

#include "core/edit/edit_plan.h"
#include "core/kinds/wlod/state/wlod_state.h"

namespace kvlab {

struct WlodPlan {
  struct Content {
    Moment moment;
    TokenId token;
    int place = 0;  // index in the action list
  };
  /// A token of the tail after the edit: an old one, or a new one.
  struct TailToken {
    std::int32_t before = -1;  // its moment before the edit; -1 = new
    TokenId token;
    std::int32_t replaces = -1;  // moment of the token that a new one replaces; -1 = none
  };

  std::vector<Action> actions;
  std::vector<Content> replaced;  // ascending moments, before the tail
  bool tailChanges = false;
  std::int32_t tailBegin = 0;   // the first moment that may move; at latest that of the incomplete tail
  std::vector<TailToken> tail;  // tokens from there on
  std::vector<std::int32_t>
      places;              // [moments before the edit from tailBegin on] where edits of a token begin in `tail`
  std::int32_t kept = 0;   // number of unchanged tokens at the tail's front
  WorkingContext context;  // after the edit
  std::vector<TimelineChange> changes;
  std::int32_t earliest = 0;  // first moment whose rows are computed
  std::int32_t added = 0;     // number of appended tokens, the last ones of the tail
};

/// The plan in the form of other sessions: positions are entries; `rows` and `stale` count rows that are computed.
EditPlan asEditPlan(const WlodState& state, const WlodPlan& plan);

/// vocab: number of token ids.
Result<WlodPlan> planWlod(const WlodState& state, std::int32_t vocab, std::vector<Action> actions);

}  // namespace kvlab
