// SPDX-License-Identifier: GPL-3.0-or-later
// The present manifest of a living session, the keys of it that can change, and the verbs that change it. Pure
// functions; any thread.
#pragma once
#include <QString>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

/// The manifest of a session: what opened it, with all that verbs have changed since. policies: the reply of the verb
/// of this name.
nlohmann::json manifestInForce(const Snapshot& now, const nlohmann::json& policies);
/// Only the model and the keys that differ from their defaults.
nlohmann::json shortManifest(const nlohmann::json& manifest);
/// Why a living session keeps a key; empty where a verb changes the key.
QString whyFixed(const QString& key);

/// A verb that a change of settings needs, and the key that it is about.
struct SettingsCall {
  std::string verb;
  nlohmann::json args;
  std::string key;
};

/// The verbs that lead from one manifest to another, in their order. Errors: bad_manifest, with the key.
Result<std::vector<SettingsCall>> settingsCalls(const nlohmann::json& now, const nlohmann::json& wanted, int layers);

}  // namespace kvlab
