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

/// What the list of verbs does not know. A recorded command carries what was
/// pending when it ran.
std::optional<Error> unknownArgument(const Verb& verb, const nlohmann::json& args, bool again) {
  if (!args.is_object())
    return Error{"bad_argument", "", "the arguments are not an object", "", std::nullopt, "args", args};
  const auto& known = verb.info.args;
  for (const auto& [key, value] : args.items())
    if (std::find(known.begin(), known.end(), key) == known.end() && !(again && key == "pending"))
      return Error{"bad_argument", "", '"' + key + "\" is not an argument of it", "", std::nullopt,
                   key.empty() ? "args" : key, value};
  return std::nullopt;
}

/// An error of the argument reader says which call was refused and what it takes.
Error completed(Error error, const VerbInfo& verb) {
  if (error.what.empty()) error.what = verb.name + " was refused";
  if (!error.remedy.empty()) return error;
  std::string all;
  for (const std::string& name : verb.args) all += (all.empty() ? "" : ", ") + name;
  error.remedy = all.empty() ? "call it without arguments" : "correct it; " + verb.name + " takes " + all;
  return error;
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

Result<nlohmann::json> execute(Session& session, const std::string& name, const nlohmann::json& given) {
  const Verb* verb = find(name);
  if (!verb)
    return Error{"unknown_verb", "the call was refused", name + " is not a verb of a session",
                 "see kvlab list commands"};
  const nlohmann::json none = nlohmann::json::object(), &args = given.is_null() ? none : given;
  if (auto unknown = unknownArgument(*verb, args, session.executingAgain())) return completed(std::move(*unknown), verb->info);
  const CaptureMark mark = markCapture(session);
  if (verb->info.changes) session.beginCommand(name, args);
  Result<nlohmann::json> result = verb->run(session, args);
  if (verb->info.changes) session.beginCommand({}, nullptr);
  appendCapture(session, mark, name, args);
  if (!result) return completed(result.error(), verb->info);
  return result;
}

Result<std::unique_ptr<Session>> openSession(const Manifest& manifest, const std::string& resources,
                                             const Progress& progress) {
  Result<std::unique_ptr<Session>> session = Session::open(manifest, resources, progress);
  if (session) (*session)->setExecute(execute);
  return session;
}

}  // namespace kvlab
