// SPDX-License-Identifier: GPL-3.0-or-later
// Benchmark of the map's frame time. Needs an application object. GUI thread.
#pragma once
#include "core/experiment/bench.h"

namespace kvlab {

Status benchMap(const BenchOptions& options, nlohmann::json& rows, const Progress& progress);

}  // namespace kvlab
