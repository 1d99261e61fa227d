// SPDX-License-Identifier: Apache-2.0
// Dense columns for the window, computed on request. core/api/tile.h. Engine thread.
#pragma once
#include "core/api/tile.h"
#include "core/session/session.h"

namespace kvlab {

/// Attention that did not come to the host is looked for once more, by a pass that changes nothing. Errors:
/// out_of_range, and those of that pass, here and now.
Result<std::unique_ptr<PendingTile>> tile(Session& session, const TileRequest& request);

}  // namespace kvlab
