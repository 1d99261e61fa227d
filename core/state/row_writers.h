// SPDX-License-Identifier: Apache-2.0
// The last commit that wrote each row, so that damage can be told from the effect of an event: a column beside the
// residency map of a group. Engine thread.
#pragma once
#include "core/state/commit.h"

namespace kvlab {

/// Notes in the commit's state that the commit of this number wrote the rows that `before` lacks, has in other slots or
/// computed from something else, and those that the fault drill damaged; all rows, where pools were written anew.
void noteWriters(const CacheState& before, Commit& commit, std::int32_t number);

}  // namespace kvlab
