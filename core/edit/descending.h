// SPDX-License-Identifier: Apache-2.0
// The executor `descending`: operations run from the highest position down, and each row is computed with the phases
// and the left context valid at that moment. Rows to the left of an operation are still unchanged then. Its map is
// therefore the map before the edit, cut at the operation, followed by its new rows. semantics.md, section 3
// (executors). Pure; engine thread.
#pragma once
#include "core/api/manifest.h"
#include "core/edit/compute_rows.h"
#include "core/edit/edit_plan.h"

namespace kvlab {

/// The forward pass of one operation's new rows. `added`: [layers][plan.rows] slots. The groups are those of `after`,
/// so rows are written to their final slots.
RowsJob descendingJob(const CacheState& before, const CacheState& after, const EditPlan& plan,
                      const PlannedAction& detail, const LayerSlots& added, PositionMode mode);

}  // namespace kvlab
