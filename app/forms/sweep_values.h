// SPDX-License-Identifier: GPL-3.0-or-later
// Values of a sweep's axis as a line of text: "64, 128", "h2o, snapkv", {"k":"f16"}. Pure functions; any thread.
#pragma once
#include <QString>
#include <nlohmann/json.hpp>

namespace kvlab {

/// Commas part values, but not within quotes and brackets; a value that is no JSON is a text.
nlohmann::json valuesOf(const QString& text);
QString valuesText(const nlohmann::json& values);

}  // namespace kvlab
