// SPDX-License-Identifier: Apache-2.0
// Computes dense columns of values for views, on request. core/api/tile.h. Engine thread.
#pragma once
#include "core/api/tile.h"
#include "core/session/session.h"

namespace kvlab {

/// If the host does not have the requested attention, a pass that changes no state computes it. Errors: out_of_range,
/// and those of that pass.
Result<std::unique_ptr<PendingTile>> tile(Session& session, const TileRequest& request);

}  // namespace kvlab
