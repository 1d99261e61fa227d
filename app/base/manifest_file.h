// SPDX-License-Identifier: GPL-3.0-or-later
// A manifest that a person has in a file. Any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "core/api/error.h"

namespace kvlab {

/// Reads and checks it. Error codes: unreadable_file, bad_manifest.
Result<nlohmann::json> readManifest(const std::string& path);

}  // namespace kvlab
