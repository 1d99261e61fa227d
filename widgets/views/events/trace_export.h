// SPDX-License-Identifier: GPL-3.0-or-later
// Exports tick reports as a Chrome trace for chrome://tracing and ui.perfetto.dev. Any thread. Format: "Trace Event
// Format", JSON object form; times in microseconds.
#pragma once
#include <nlohmann/json.hpp>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

/// Complete ("X") events of every report, tick after tick on one track, and a counter track for the length of the
/// context. Snapshots without a report are skipped.
nlohmann::json chromeTrace(const std::vector<SnapshotPtr>& history);

}  // namespace kvlab
