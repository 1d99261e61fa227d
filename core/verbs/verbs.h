// SPDX-License-Identifier: Apache-2.0
// Runs the verbs of a session from their table. The script language, the console, the window's commands and the capture
// log all use it. Engine thread.
#pragma once
#include <span>
#include <variant>

#include "core/api/verb.h"
#include "core/session/session.h"
#include "core/verbs/verb_args.h"

namespace kvlab {

class Batch;
class Lanes;
class VerbArgs;

using LooksAtSession = Result<nlohmann::json> (*)(const Session& session, VerbArgs& args);
using RunsOnSession = Result<nlohmann::json> (*)(Session& session, VerbArgs& args);
/// A verb that only looks or does more, as its arguments say.
struct LooksOrRuns {
  LooksAtSession looks;
  RunsOnSession runs;
  Effect (*effect)(const nlohmann::json& args);
};
using RunsOnLanes = Result<nlohmann::json> (*)(Lanes& lanes, VerbArgs& args);
using RunsOnBatch = Result<nlohmann::json> (*)(Batch& batch, VerbArgs& args);

/// One line of the table. The table's checks have passed when `run` is called. Verbs that open and close lanes and
/// batches are run by core/lanes/session_holder only.
struct Verb {
  VerbInfo info;
  std::variant<std::monostate, LooksAtSession, RunsOnSession, LooksOrRuns, RunsOnLanes, RunsOnBatch> run;
  decltype(CommandKind::says) says = nullptr;  // the edit in words
};

/// All verbs, in the order of the help text.
const std::vector<VerbInfo>& verbs();
/// Null if there is no such verb.
const VerbInfo* verbNamed(std::string_view name);
/// The effect of a call, which is at most that of the verb; none if there is no such verb.
std::optional<Effect> effectOf(const std::string& verb, const nlohmann::json& args);
/// An error that suggests similar names.
Error unknownVerb(const std::string& name);

/// args is an object or null. Errors: unknown_verb, bad_argument (names the verb and the argument), no_lanes (a verb of
/// lanes), no_batch (a verb of a batch), and the verb's own. A refused verb has changed nothing. If a tick fails,
/// earlier ticks of the same verb stay.
Result<nlohmann::json> execute(Session& session, const std::string& verb, const nlohmann::json& args);

/// Opens a session whose history can execute its commands again.
Result<std::unique_ptr<Session>> openSession(const Manifest& manifest, const std::string& resources,
                                             const Progress& progress = {});

// The parts of the table.
std::span<const Verb> tickVerbs();
std::span<const Verb> stateVerbs();
std::span<const Verb> noteVerbs();
std::span<const Verb> queryVerbs();
std::span<const Verb> compareVerbs();
std::span<const Verb> tableVerbs();  // core/tables/tables.cpp
std::span<const Verb> watchVerbs();
std::span<const Verb> storageVerbs();
std::span<const Verb> fileVerbs();
std::span<const Verb> laneVerbs();   // core/lanes/lane_verbs.cpp
std::span<const Verb> batchVerbs();  // core/lanes/lane_verbs.cpp

/// The verb chat: messages through the model's chat template into the context.
/// Appends the part of the conversation that the context does not hold yet. Errors: bad_template, bad_messages,
/// chat_differs (the context does not begin the conversation), empty_tokens, and those of an append.
Result<nlohmann::json> chatVerb(Session& session, VerbArgs& in);

/// The history of a session as columns, for pictures of it: entries with their ticks, edits in words, branches, and
/// which states are kept. Entries from `since` on; parts that may change later, as the kept states and the tips of
/// branches, are always whole.
Result<nlohmann::json> timelineVerb(const Session& session, VerbArgs& in);

/// Rows that left layers in the entry's tick, by an action or through a window.
std::int32_t rowsGone(const Timeline::Entry& entry);

}  // namespace kvlab
