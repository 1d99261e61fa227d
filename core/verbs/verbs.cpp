// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/verbs.h"

#include <algorithm>
#include <functional>
#include <set>

#include "core/api/guarded.h"
#include "core/api/texts.h"
#include "core/parts/kinds.h"
#include "core/session/call_mark.h"
#include "core/session/requests.h"
#include "core/verbs/capture_session.h"
#include "core/verbs/verb_args.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr const char* kPending = "pending";  // pending actions at the time of a recorded command

const std::vector<const Verb*>& table() {
  static const std::vector<const Verb*> kAll = [] {
    std::vector<const Verb*> all;
    for (const std::span<const Verb> part :
         {tickVerbs(), stateVerbs(), noteVerbs(), tableVerbs(), queryVerbs(), compareVerbs(), watchVerbs(),
          storageVerbs(), fileVerbs(), laneVerbs(), batchVerbs()})
      for (const Verb& verb : part) all.push_back(&verb);
    for (const KindInfo& kind : kinds())
      for (const Verb& verb : kind.verbs ? kind.verbs() : std::span<const Verb>()) all.push_back(&verb);
    return all;
  }();
  return kAll;
}

const Verb* find(std::string_view name) {
  const auto found =
      std::find_if(table().begin(), table().end(), [&](const Verb* verb) { return verb->info.name == name; });
  return found == table().end() ? nullptr : *found;
}

Error needsSeveral(const VerbInfo& info) {
  if (info.ofBatch())
    return {"no_batch", info.name + " was refused", "the verb needs a batch, and this session is in none",
            "open a batch with lab.batch and call the verb there"};
  return {"no_lanes", info.name + " was refused", "the verb needs lanes, and this session has none",
          "open lanes with lab.lanes and call the verb there"};
}

/// Restores the pending actions that a recorded command carries. The tick checks whether they fit, because its revisers
/// may make room for them.
Status restorePending(Session& session, const json& args) {
  if (!session.history().executingAgain() || !args.contains(kPending)) return ok();
  clearPending(session);
  std::vector<Action> actions = KV_TRY(actionsFromJson(args[kPending]));
  static const std::set<std::string> kNoRoom = {"capacity", "over_budget"};
  if (const Result<EditPlan> possible = plan(session, actions); !possible && !kNoRoom.contains(possible.error().code))
    return possible.error();
  session.setPending(std::move(actions));
  return ok();
}

/// Runs a verb that may change the session, and appends the verb to a running capture.
Result<json> change(Session& session, const VerbInfo& info, RunsOnSession run, VerbArgs& in) {
  if (!info.inOpenTick()) KV_TRY(session.noOpenTick());
  KV_TRY(restorePending(session, in.all()));
  const CaptureMark mark = markCapture(session);
  if (info.recorded()) session.history().beginCommand(info.name, in.all());
  Result<json> result = run(session, in);
  appendCapture(session, mark, info.name, in.all(), bool(result));
  if (info.recorded()) session.history().beginCommand({}, nullptr);
  return result;
}

/// Result of the call; a call that ends with an exception has changed nothing.
Result<json> wholly(Session& session, const std::function<Result<json>()>& call) {
  CallMark before(session, CallMark::Of::Call);
  try {
    return call();
  } catch (...) {
    return before.takenBack("the call was refused");
  }
}

Result<json> executed(Session& session, const std::string& name, const json& given) {
  const Verb* verb = find(name);
  if (!verb) return unknownVerb(name);
  const json none = json::object(), &args = given.is_null() ? none : given;
  VerbArgs in(verb->info.args, args, session.history().executingAgain() ? kPending : "");
  if (in.error()) return VerbArgs::completed(*in.error(), name, verb->info.args);
  const auto* look = std::get_if<LooksAtSession>(&verb->run);
  const auto* run = std::get_if<RunsOnSession>(&verb->run);
  if (const auto* either = std::get_if<LooksOrRuns>(&verb->run)) {
    if (either->effect(args) == Effect::Reads) look = &either->looks;
    else run = &either->runs;
  }
  Result<json> result = look ? (*look)(session, in)
      : run                  ? wholly(session, [&] { return change(session, verb->info, *run, in); })
                             : Result<json>(needsSeveral(verb->info));
  if (!result) return VerbArgs::completed(result.error(), name, verb->info.args);
  return result;
}

CommandKind kindOf(const std::string& name) {
  const Verb* verb = find(name);
  return verb ? CommandKind{verb->info.sort, verb->says} : CommandKind();
}

}  // namespace

const std::vector<VerbInfo>& verbs() {
  static const std::vector<VerbInfo> kAll = [] {
    std::vector<VerbInfo> all;
    for (const Verb* verb : table()) all.push_back(verb->info);
    return all;
  }();
  return kAll;
}

const VerbInfo* verbNamed(std::string_view name) {
  const Verb* verb = find(name);
  return verb ? &verb->info : nullptr;
}

std::optional<Effect> effectOf(const std::string& name, const json& args) {
  const Verb* verb = find(name);
  if (!verb) return std::nullopt;
  const auto* either = std::get_if<LooksOrRuns>(&verb->run);
  return either ? either->effect(args) : verb->info.effect;
}

Error unknownVerb(const std::string& name) {
  return {"unknown_verb", "the call was refused",
          name + " is not a verb of a session" + nearestNote(name, namesOf(verbs())), "see kvlab list verbs"};
}

Result<json> execute(Session& session, const std::string& name, const json& given) {
  return guarded("the call was refused", [&] { return executed(session, name, given); });
}

Result<std::unique_ptr<Session>> openSession(const Manifest& manifest, const std::string& resources,
                                             const Progress& progress) {
  std::unique_ptr<Session> session = KV_TRY(Session::open(manifest, resources, progress));
  session->history().setExecute(execute);
  session->history().setKindOf(kindOf);
  return session;
}

}  // namespace kvlab
