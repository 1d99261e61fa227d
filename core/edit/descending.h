// SPDX-License-Identifier: Apache-2.0
// The executor `descending`: one operation after another from the highest position down, each row computed
// with the phases and the left context valid at that moment. What stands left of an operation is
// still untouched then, so its view is the map before, cut at the operation, followed by its own new
// rows. semantics.md, section 3 (executors). Pure; engine thread.
#pragma once
#include "core/api/manifest.h"
#include "core/edit/compute_rows.h"
#include "core/edit/edit_plan.h"

namespace kvlab {

/// The forward pass of one operation's new rows. `added` [layers][plan.rows]; the groups are those
/// of `after`, whose slots the rows are written to.
RowsJob descendingJob(const CacheState& before, const CacheState& after, const EditPlan& plan,
                      const PlannedAction& detail, const LayerSlots& added, PositionMode mode);

}  // namespace kvlab
