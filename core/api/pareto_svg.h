// SPDX-License-Identifier: Apache-2.0
// The Pareto plot of a sweep as SVG: recall against budget with 95 % intervals, and KL against bytes, one line per
// series. Numbers and points only, no script; equal points give equal bytes. Pure function; any thread.
#pragma once
#include <span>
#include <string>

#include "core/api/sweep_table.h"

namespace kvlab {

/// A row of panels per prompt set.
std::string paretoSvg(const std::string& title, std::span<const SweepPoint> points);

}  // namespace kvlab
