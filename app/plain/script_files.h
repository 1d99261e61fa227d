// SPDX-License-Identifier: GPL-3.0-or-later
// Files and names of the script language: texts that scripts read and write, paths in the arguments of verbs, and the
// lists that prelude.js makes its methods from. out: folder of --out; empty = none. Functions; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "core/api/error.h"
#include "core/api/table.h"

namespace kvlab {

/// Where a script's path lies: a relative one that is written, or that is there, lies in `out`.
std::string scriptPath(const std::string& out, const std::string& path, bool write);
/// The same for all paths in the arguments of a verb, and of a verb inside them. The folder of a written file is made.
void resolveScriptPaths(const std::vector<VerbInfo>& verbs, const std::string& out, const std::string& verb,
                        nlohmann::json& args);

/// lab.readText: "resource:NAME" is a file of the folder `resources`. Errors: bad_argument, io.
Result<nlohmann::json> readScriptText(const std::string& out, const std::string& resources, const std::string& given);
/// lab.writeText: {path, bytes}. Errors: bad_argument, io.
Result<nlohmann::json> writeScriptText(const std::string& out, const std::string& given, const std::string& text);

/// [{name, args, lanes, ofLanes}] and [{name, args, columns}].
nlohmann::json scriptVerbs(const Schema& schema);
nlohmann::json scriptTables(const Schema& schema);

}  // namespace kvlab
