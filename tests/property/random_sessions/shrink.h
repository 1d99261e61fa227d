// SPDX-License-Identifier: Apache-2.0
// Makes a sequence small that still shows the same finding: fewer steps, fewer manifest keys, shorter lists.
#pragma once
#include "property/random_sessions/play.h"

namespace kvlab::random_sessions {

/// The smallest sequence found within so many seconds; it ends with the step of the finding.
Sequence shrunk(const Played& played, const Folders& folders, double seconds);

}  // namespace kvlab::random_sessions
