// SPDX-License-Identifier: GPL-3.0-or-later
// Writes the values of forms into a manifest, by the paths of keys as core/api/manifest_values.h reads them. Pure
// functions; any thread.
#pragma once
#include <QString>
#include <nlohmann/json.hpp>

namespace kvlab {

/// Sets a key, or takes it out (null), with the objects around it. Another policy keeps only the keys that it takes;
/// without a name there is none.
void setManifestValue(nlohmann::json& manifest, const QString& key, const nlohmann::json& value);
/// A manifest with the changes of a lane: policy and layout are replaced as a whole, other objects key by key.
nlohmann::json withChanges(nlohmann::json manifest, const nlohmann::json& changes);
/// A value as a person writes it; empty for null.
QString manifestText(const nlohmann::json& value);

}  // namespace kvlab
