// SPDX-License-Identifier: Apache-2.0
// Values of a manifest by the paths of their keys, "wlod.budget", and the keys that have no effect because of another
// key. A policy may be written as a name, as "NAME:key=value" or as an object: here it is one object, whose name is the
// value of the key `policy`. Pure functions; any thread.
#pragma once
#include <string_view>

#include "core/api/manifest.h"

namespace kvlab {

/// The policy of a manifest as an object; {} where there is none, or it cannot be read.
nlohmann::json policyObject(const nlohmann::json& manifest);
/// Null where the manifest does not have the key.
nlohmann::json manifestValue(const nlohmann::json& manifest, std::string_view key);
/// The same, or the key's default.
nlohmann::json valueInForce(const nlohmann::json& manifest, std::string_view key);

/// The reason why a key has no effect beside the others, as "wLOD is off"; empty if it has one.
std::string whyIdle(const nlohmann::json& manifest, std::string_view key);
/// One sentence for each key that differs from its default and has no effect, unless `origin` has the same value, also
/// without effect. Seeds are left out: they are written in case something is drawn.
std::vector<std::string> idleKeys(const Manifest& manifest, const Manifest& origin);
/// The same for a manifest by itself.
std::vector<std::string> idleKeys(const Manifest& manifest);

}  // namespace kvlab
