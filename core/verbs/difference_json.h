// SPDX-License-Identifier: Apache-2.0
// A difference of two states as verbs return it. Pure; engine thread.
#pragma once
#include <nlohmann/json.hpp>

#include "core/session/difference.h"

namespace kvlab {

/// then, now: the sessions that were compared.
nlohmann::json toJson(const StateDifference& found, const Session& then, const Session& now);

}  // namespace kvlab
