// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of scripts: openings and calls of a session, and cases of the bug clinic. Functions; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/api/verb.h"

namespace kvlab {

struct ClinicCase;

/// Null if there is no such verb.
const VerbInfo* infoOf(const std::vector<VerbInfo>& verbs, const std::string& verb);
/// A value in script syntax.
std::string scriptText(const nlohmann::json& value);
/// The line that opens a session: s = lab.open({"model":"demo"}). request: what WindowPort::openSession() is given.
std::string openingLine(const nlohmann::json& request);
/// A call of a session's verb: s.inject([...], {now: true}). Flags stand by name, defaults are left out.
std::string callLine(const std::vector<VerbInfo>& verbs, const std::string& verb, const nlohmann::json& args);
/// A case of the bug clinic as a script that opens a session, plants the bug and meets its condition; at most twenty
/// lines. blind: a number plants the bug in place of its name. folder: of the files
/// that the steps write.
std::vector<std::string> clinicScript(const ClinicCase& one, const std::vector<VerbInfo>& verbs,
                                      std::optional<std::int64_t> blind = {}, const std::string& folder = ".");

}  // namespace kvlab
