// SPDX-License-Identifier: Apache-2.0
// after_edit: chooses surviving rows to compute again and gives them new slots, so that the old rows stay intact until
// the commit. Engine thread.
#pragma once
#include "core/edit/compute_rows.h"
#include "core/edit/edit_plan.h"

namespace kvlab {

/// Positions of the live survivors from the first edit on, ascending, after the edit.
std::vector<std::int32_t> staleSurvivors(const CacheState& after, const EditPlan& plan);

/// Filters ascending positions: keeps those whose row is resident in a layer.
std::vector<std::int32_t> residentIn(const CacheState& state, CacheLayer layer,
                                     const std::vector<std::int32_t>& positions);

/// ceil(ratio * n)
std::size_t shareOf(std::size_t n, double ratio);

/// The ceil(ratio * n) positions with the largest deviation, ascending; ties go to the lower one.
std::vector<std::int32_t> mostDeviating(const std::vector<std::int32_t>& positions,
                                        const std::vector<double>& deviation, double ratio);

/// Slots that changed maps no longer name, and reserved slots that were not needed, [layers].
struct SlotChange {
  LayerSlots freed, unused;
};

/// Points the rows at `positions` to `fresh` [layers][positions]. If a layer lacks a row, its map does not use the
/// slot; the forward pass still uses it as scratch.
SlotChange refreshSlots(CacheState& state, const std::vector<std::int32_t>& positions, const LayerSlots& fresh);

/// The row at a context position, as a target for a forward pass.
RowTarget targetAt(const CacheState& state, std::int32_t position);

}  // namespace kvlab
