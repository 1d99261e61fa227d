// SPDX-License-Identifier: Apache-2.0
// after_edit: which surviving rows are computed anew, and the new slots they get so that the old
// rows stay whole until the commit. Engine thread.
#pragma once
#include "core/edit/compute_rows.h"
#include "core/edit/edit_plan.h"

namespace kvlab {

/// Final positions of the live survivors from the first edit on, ascending.
std::vector<std::int32_t> staleSurvivors(const CacheState& after, const EditPlan& plan);

/// Those of some ascending positions whose row is resident in a layer.
std::vector<std::int32_t> residentIn(const CacheState& state, CacheLayer layer,
                                     const std::vector<std::int32_t>& positions);

/// ceil(ratio * n)
std::size_t shareOf(std::size_t n, double ratio);

/// The ceil(ratio * n) positions with the largest deviation, ascending; ties go to the lower one.
std::vector<std::int32_t> mostDeviating(const std::vector<std::int32_t>& positions,
                                        const std::vector<double>& deviation, double ratio);

/// Slots that a change of maps gave back, and reserved ones that it did not need, [layers].
struct SlotChange {
  LayerSlots freed, unused;
};

/// Points the rows at `positions` to `fresh` [layers][positions]. A layer that lacks a row leaves
/// its slot unused by the map (the forward pass still needs it as scratch).
SlotChange refreshSlots(CacheState& state, const std::vector<std::int32_t>& positions, const LayerSlots& fresh);

/// The row at a context position as a target of a forward pass.
RowTarget targetAt(const CacheState& state, std::int32_t position);

}  // namespace kvlab
