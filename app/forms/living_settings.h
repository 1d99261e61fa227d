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
/// Why a living session keeps a key; empty where it takes another value.
QString whyFixed(const QString& key);
/// The keys that lead from one manifest to another: arguments of the verb `settings`; {} where both say the same.
/// Errors: bad_manifest, with the key.
Result<nlohmann::json> settingsBetween(const nlohmann::json& now, const nlohmann::json& wanted);

}  // namespace kvlab
