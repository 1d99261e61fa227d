// SPDX-License-Identifier: GPL-3.0-or-later
// Reads files that a person names: a text of any sort, or a manifest. Any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "core/api/error.h"

namespace kvlab {

/// Reads any file or pipe, up to 64 MiB. Error (code unreadable_file): `what` names the failed action; `value` is the
/// path.
Result<std::string> readBounded(const std::string& path, const std::string& what);
/// Reads and checks a manifest. Error codes: unreadable_file, bad_manifest.
Result<nlohmann::json> readManifest(const std::string& path);

}  // namespace kvlab
