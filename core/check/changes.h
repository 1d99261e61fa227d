// SPDX-License-Identifier: Apache-2.0
// Changes of the last commit, for checks that compare a state with the one before, or look only at new rows.
// Engine thread.
#pragma once
#include "core/check/map_walk.h"

namespace kvlab {

/// True if the last commit added a token that the model was asked for. `before` is there.
bool generated(const CheckInput& input);

/// True if the last commit carried out a list of actions: rows have come, or some were replaced, deleted or evicted. A
/// state that was loaded is another one.
bool edited(const CheckInput& input);

/// Groups that the layers of a map had in the state that passed; empty where everything is new to the check.
std::vector<const LayerGroup*> passedGroups(const CheckInput& input, const SharedMap& shared);

/// The index from which on a map has something new for a check: rows before it were rows of the state that passed, in
/// the same order and in the same slots, and no commit has written them since. 0 = all is new.
std::size_t firstFresh(const CheckInput& input, const SharedMap& shared);

}  // namespace kvlab
