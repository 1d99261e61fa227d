// SPDX-License-Identifier: Apache-2.0
// The attention that a row received, tick by tick. Ticks whose attention is not kept are executed again (look_back.h).
// Engine thread.
#pragma once
#include <vector>

#include "core/session/session.h"

namespace kvlab {

struct RowRead {
  int entry = 0;    // entry of the timeline
  double mass = 0;  // attention of the newest query, mean over query heads, 0..1
};

/// Every commit up to the present state whose newest query looked at the row in a layer of the model, oldest first.
/// Errors: those of LookBack.
Result<std::vector<RowRead>> rowReads(Session& session, Layer layer, LedgerId row);

}  // namespace kvlab
