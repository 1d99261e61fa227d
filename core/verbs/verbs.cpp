// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/verbs.h"

#include <algorithm>

#include "core/session/requests.h"
#include "core/verbs/capture_session.h"
#include "core/verbs/verb_args.h"

namespace kvlab {
namespace {

const Verb* find(const std::string& name) {
  for (std::span<const Verb> part :
       {tickVerbs(), stateVerbs(), queryVerbs(), storageVerbs(), policyVerbs(), wlodVerbs(), fileVerbs()})
    for (const Verb& verb : part)
      if (verb.info.name == name) return &verb;
  return nullptr;
}

/// Recorded commands carry the actions that were pending when they ran.
Status restorePending(Session& session, const nlohmann::json& args) {
  if (!session.history().executingAgain() || !args.contains("pending")) return ok();
  Result<std::vector<Action>> actions = actionsFromJson(args["pending"]);
  if (!actions) return actions.error();
  clearPending(session);
  return inject(session, actions.take());
}

}  // namespace

const std::vector<VerbInfo>& verbs() {
  static const std::vector<VerbInfo> kAll = [] {
    std::vector<VerbInfo> all;
    for (std::span<const Verb> part :
         {tickVerbs(), stateVerbs(), queryVerbs(), storageVerbs(), policyVerbs(), wlodVerbs(), fileVerbs()})
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
  std::vector<std::string> names = verb->info.args;
  if (session.history().executingAgain()) names.push_back("pending");
  VerbArgs in(args);
  in.only(names);
  if (in.error()) return VerbArgs::completed(*in.error(), name, verb->info.args);
  if (Status restored = restorePending(session, args); !restored) return restored.error();
  const CaptureMark mark = markCapture(session);
  if (verb->info.changes) session.history().beginCommand(name, args);
  Result<nlohmann::json> result = verb->run(session, args);
  if (verb->info.changes) session.history().beginCommand({}, nullptr);
  appendCapture(session, mark, name, args);
  if (!result) return VerbArgs::completed(result.error(), name, verb->info.args);
  return result;
}

Result<std::unique_ptr<Session>> openSession(const Manifest& manifest, const std::string& resources,
                                             const Progress& progress) {
  Result<std::unique_ptr<Session>> session = Session::open(manifest, resources, progress);
  if (session) (*session)->history().setExecute(execute);
  return session;
}

}  // namespace kvlab
