// SPDX-License-Identifier: Apache-2.0
#include "core/session/verbs.h"

#include <algorithm>

#include "core/session/capture_session.h"

namespace kvlab {
namespace {

const Verb* find(const std::string& name) {
  for (std::span<const Verb> part : {tickVerbs(), stateVerbs(), queryVerbs(), fileVerbs()})
    for (const Verb& verb : part)
      if (verb.info.name == name) return &verb;
  return nullptr;
}

}  // namespace

const std::vector<VerbInfo>& verbs() {
  static const std::vector<VerbInfo> kAll = [] {
    std::vector<VerbInfo> all;
    for (std::span<const Verb> part : {tickVerbs(), stateVerbs(), queryVerbs(), fileVerbs()})
      for (const Verb& verb : part) all.push_back(verb.info);
    return all;
  }();
  return kAll;
}

Result<nlohmann::json> execute(Session& session, const std::string& name, const nlohmann::json& args) {
  const Verb* verb = find(name);
  if (!verb)
    return Error{"unknown_verb", "the call was refused", name + " is not a verb of a session",
                 "see kvlab list commands"};
  for (const auto& [key, value] : args.items()) {
    const auto& known = verb->info.args;
    if (key != "pending" && std::find(known.begin(), known.end(), key) == known.end())
      return Error{"bad_argument", "the call was refused", key + " is not an argument of " + name,
                   "see the list of verbs for its arguments", std::nullopt, key, value};
  }
  const CaptureMark mark = markCapture(session);
  if (verb->info.changes) session.beginCommand(name, args.is_object() ? args : nlohmann::json::object());
  Result<nlohmann::json> result = verb->run(session, args);
  if (verb->info.changes) session.beginCommand({}, nullptr);
  appendCapture(session, mark, name, args);
  return result;
}

Result<std::unique_ptr<Session>> openSession(const Manifest& manifest, const std::string& resources,
                                             const Progress& progress) {
  Result<std::unique_ptr<Session>> session = Session::open(manifest, resources, progress);
  if (session) (*session)->setExecute(execute);
  return session;
}

}  // namespace kvlab
