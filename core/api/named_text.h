// SPDX-License-Identifier: Apache-2.0
// "NAME:key=value,key=value": manifests, sweeps and the command line write a name with settings in this way.
// Pure; any thread.
#pragma once
#include <nlohmann/json.hpp>

#include "core/api/error.h"

namespace kvlab {

/// {"name": NAME, key: value, ..} of such a text. A value that reads as a number or truth value becomes one, any
/// other a text. An object comes back as it is. An error has why and remedy alone: the caller knows what was refused.
Result<nlohmann::json> namedObject(const nlohmann::json& given);

}  // namespace kvlab
