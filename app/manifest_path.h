// SPDX-License-Identifier: GPL-3.0-or-later
// Values of a manifest by the paths of their keys, "wlod.budget". A policy may be written as a name, as
// "NAME:key=value" or as an object: here it is one object, whose name is the value of the key `policy`. Pure functions;
// any thread.
#pragma once
#include <QString>
#include <nlohmann/json.hpp>

namespace kvlab {

/// Null where the manifest does not have the key.
nlohmann::json manifestValue(const nlohmann::json& manifest, const QString& key);
/// Sets a key, or takes it out (null), with the objects around it. Another policy keeps only the keys that it takes;
/// without a name there is none.
void setManifestValue(nlohmann::json& manifest, const QString& key, const nlohmann::json& value);
/// A manifest with the changes of a lane: policy and layout are replaced as a whole, other objects key by key.
nlohmann::json withChanges(nlohmann::json manifest, const nlohmann::json& changes);
/// A value as a person writes it; empty for null.
QString manifestText(const nlohmann::json& value);

}  // namespace kvlab
