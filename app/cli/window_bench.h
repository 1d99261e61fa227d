// SPDX-License-Identifier: GPL-3.0-or-later
// Benchmark of the window while an engine runs at full speed: how long input would wait. Needs an application object.
// GUI thread.
#pragma once
#include "core/experiment/bench.h"

namespace kvlab {

Status benchWindow(const BenchOptions& options, nlohmann::json& rows, const Progress& progress);

}  // namespace kvlab
