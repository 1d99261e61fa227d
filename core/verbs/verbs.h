// SPDX-License-Identifier: Apache-2.0
// Runs the verbs of a session from their list: the script language, the console, the window's
// commands and the capture log all come through here. Engine thread.
#pragma once
#include <span>

#include "core/api/verb.h"
#include "core/session/session.h"

namespace kvlab {

struct Verb {
  VerbInfo info;
  Result<nlohmann::json> (*run)(Session& session, const nlohmann::json& args);
};

/// All verbs, in the order of help.
const std::vector<VerbInfo>& verbs();

/// args is an object or null. Errors: unknown_verb, bad_argument (names the verb and the argument), and the
/// verb's own. What was refused has changed nothing; of ticks, those before the failed one stand.
Result<nlohmann::json> execute(Session& session, const std::string& verb, const nlohmann::json& args);

/// Opens a session whose history can re-execute its commands.
Result<std::unique_ptr<Session>> openSession(const Manifest& manifest, const std::string& resources,
                                             const Progress& progress = {});

// The parts of the list.
std::span<const Verb> tickVerbs();
std::span<const Verb> stateVerbs();
std::span<const Verb> queryVerbs();
std::span<const Verb> storageVerbs();
std::span<const Verb> policyVerbs();
std::span<const Verb> wlodVerbs();
std::span<const Verb> fileVerbs();

}  // namespace kvlab
