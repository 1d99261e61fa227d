// SPDX-License-Identifier: GPL-3.0-or-later
// The engine's sweeps, as the program sees them. Any thread; the .cpp includes no Qt, because core uses names that
// Qt's macros claim.
#pragma once
#include "core/api/sweep_run.h"

namespace kvlab {

/// Runs the specification of a file; an empty `out` is NAME.sweep, `folder` that of the file. `options` comes back with
/// what was used. Errors: those of runSweep() (core/experiment/sweep_runner.h).
Result<SweepOutcome> sweepFile(const std::string& path, SweepOptions& options);
/// The same of a specification that is no file.
Result<SweepOutcome> sweepJson(const nlohmann::json& spec, SweepOptions& options);

}  // namespace kvlab
