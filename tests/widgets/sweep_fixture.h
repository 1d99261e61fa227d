// SPDX-License-Identifier: GPL-3.0-or-later
// A sweep as the view shows it, by formula: four series over five budgets and two seeds, one cell failed.
#pragma once
#include "core/api/sweep_table.h"

namespace kvlab::fixture {

SweepRow sweepCell(std::int64_t index, const std::string& prompts, const std::string& policy,
                   std::optional<double> ratio, std::int64_t seed, double skill);
SweepShownPtr sweep(bool running = false);

}  // namespace kvlab::fixture
