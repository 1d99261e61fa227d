// SPDX-License-Identifier: Apache-2.0
// What a wLOD session adds to the state: the tree over the time line, the working context over the tree, and the
// rows of both in order of arrival with their slots. A value: history keeps whole ones. Engine thread; its columns
// are shared with snapshots. semantics.md, section 8.
#pragma once
#include <memory>
#include <vector>

#include "core/api/column.h"
#include "core/api/wlod_view.h"
#include "core/wlod/cold_start.h"
#include "core/wlod/coverage.h"
#include "core/wlod/invalidation.h"
#include "core/wlod/mega_context.h"
#include "core/wlod/working_context.h"

namespace kvlab {

/// How a session attends and turns; fixed while it is open.
struct WlodRules {
  WlodAttention attention = WlodAttention::Flat;
  PyramidRules pyramid = {};
  double sigma = 1;  // of a gist, in halves of its span; 0 = no damping
  WorkingRules working = {};
  ColdStart start = {};
  RecomputeCosts costs = {};
};

struct WlodState {
  WlodRules rules;
  MegaContext tree;
  WorkingContext context;
  Column<WlodRow> rows;             // wlodRows() of the context
  Column<LedgerId> ledger;          // [rows]
  std::vector<Column<Slot>> slots;  // [layers][rows]

  std::int32_t count() const { return static_cast<std::int32_t>(rows.size()); }
};

}  // namespace kvlab
