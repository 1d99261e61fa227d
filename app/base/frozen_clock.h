// SPDX-License-Identifier: GPL-3.0-or-later
// Removes measured times from snapshots while the clock is frozen, so that two runs of a script give the same pictures
// and texts. Values; any thread.
#pragma once
#include "core/api/snapshot.h"

namespace kvlab {

/// A copy in which every measured duration is 0; other data stays shared with the original.
SnapshotPtr withoutTimes(const SnapshotPtr& snapshot);
/// The same for the reply of a verb: durations and estimates from them are 0.
void stopTimes(nlohmann::json& value);

}  // namespace kvlab
