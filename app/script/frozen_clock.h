// SPDX-License-Identifier: GPL-3.0-or-later
// What views show while the clock is frozen: snapshots without the times that were measured, so that two runs of a
// script give the same pictures and texts. Values; any thread.
#pragma once
#include "core/api/snapshot.h"

namespace kvlab {

/// A copy in which every measured duration is 0; what it shares with the original stays shared.
SnapshotPtr withoutTimes(const SnapshotPtr& snapshot);
/// The same for what a verb answered: durations and what is estimated from them are 0.
void stopTimes(nlohmann::json& value);

}  // namespace kvlab
