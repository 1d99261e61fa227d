// SPDX-License-Identifier: Apache-2.0
// "NAME:key=value,key=value", as manifests, sweeps and the command line write things that have a name and
// settings. Pure; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "core/api/error.h"

namespace kvlab {

/// {"name": NAME, key: value, ..} of such a text; a value is a number or a truth value where it reads as one, else
/// a text. Objects are given back as they are. An error has why and remedy alone: the caller knows what was refused.
Result<nlohmann::json> namedObject(const nlohmann::json& given);

}  // namespace kvlab
