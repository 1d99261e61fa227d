// SPDX-License-Identifier: GPL-3.0-or-later
// A believable reply to `difference` for the fixture session: an edit in the middle, rows behind it turned, a layer
// that evicts.
#pragma once
#include "core/api/snapshot.h"

namespace kvlab::fixture {

nlohmann::json difference(const Snapshot& now);
/// The same from the cache of another program, with its explanation.
nlohmann::json explainedDifference(const Snapshot& now);

}  // namespace kvlab::fixture
