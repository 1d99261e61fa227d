// SPDX-License-Identifier: GPL-3.0-or-later
// Keys of a manifest that say nothing as long as another key does not let them. Pure functions; any thread.
#pragma once
#include <QString>
#include <nlohmann/json.hpp>

namespace kvlab {

/// Why a key has no effect in this manifest, as "wLOD is off"; empty where the key has one.
QString whyIdle(const nlohmann::json& manifest, const QString& key);
/// What the manifest's policy or layout does, in the words of the engine's lists; empty for other keys and wrong names.
QString helpOfChoice(const nlohmann::json& manifest, const QString& key);

}  // namespace kvlab
