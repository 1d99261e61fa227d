// SPDX-License-Identifier: Apache-2.0
// Sweeps for Python: they run on threads of their own, while the caller's thread looks for signals.
#pragma once
#include "core/experiment/sweep_runner.h"
#include "core/python/handle.h"

namespace kvlab::python {

/// Errors: those of runSweep(); cancelled, if `interrupts` ends it: finished cells stay finished.
Result<SweepOutcome> runSweep(const nlohmann::json& given, SweepOptions& options, Interrupts& interrupts);

}  // namespace kvlab::python
