// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the engine's sweeps. Any thread; the .cpp includes no Qt, because Qt's macros clash with names of core.
#pragma once
#include "core/api/sweep_table.h"

namespace kvlab {

/// runSweep() of core/experiment/sweep_runner.h.
Result<SweepOutcome> sweep(const nlohmann::json& specOrPath, SweepOptions& options);
/// What lab.sweep and `kvlab sweep --json` answer: SweepResult of resources/script_api.d.ts. out: the folder.
nlohmann::json sweepAnswer(const std::string& name, const std::string& out, const SweepOutcome& outcome);
/// Cells of a specification. Errors: bad_sweep.
Result<std::int64_t> sweepSize(const nlohmann::json& spec);

}  // namespace kvlab
