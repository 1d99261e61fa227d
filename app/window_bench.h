// SPDX-License-Identifier: GPL-3.0-or-later
// The bench of the whole window while an engine runs at full speed: how long input would have to
// wait. Needs an application object. GUI thread.
#pragma once
#include "core/experiment/bench.h"

namespace kvlab {

Status benchWindow(const BenchOptions& options, nlohmann::json& rows, const Progress& progress);

}  // namespace kvlab
