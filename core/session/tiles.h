// SPDX-License-Identifier: Apache-2.0
// Computes dense columns of values for views, on request. core/api/tile.h. Engine thread.
#pragma once
#include "core/api/tile.h"
#include "core/session/session.h"

namespace kvlab {

/// A tile of an earlier tick executes commands again where its state was dropped. If the host does not have the
/// requested attention, a pass that changes no state computes it. Errors: out_of_range, those of that pass, and of
/// sessionAt().
Result<std::unique_ptr<PendingTile>> tile(Session& session, const TileRequest& request);

}  // namespace kvlab
