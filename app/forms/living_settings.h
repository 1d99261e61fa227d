// SPDX-License-Identifier: GPL-3.0-or-later
// The manifest of a living session in forms: its short form, the keys that stay, and the change that leads to another
// one. Pure functions; any thread.
#pragma once
#include <QString>
#include <nlohmann/json.hpp>

#include "core/api/error.h"

namespace kvlab {

/// Only the model and the keys that differ from their defaults.
nlohmann::json shortManifest(const nlohmann::json& manifest);
/// The reason why a living session keeps a key; empty if it takes another value.
QString whyFixed(const QString& key);
/// The keys that lead from one manifest to another: arguments of the verb `settings`; {} if both are the same. Errors:
/// bad_manifest, with the key.
Result<nlohmann::json> settingsBetween(const nlohmann::json& now, const nlohmann::json& wanted);

}  // namespace kvlab
