// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/capture_session.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/api/part_file.h"
#include "core/files/fingerprint.h"
#include "core/session/observe.h"
#include "core/session/requests.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
/// The manifest at opening: recorded commands include later changes of settings.
CaptureHeader headerOf(const Session& session) {
  return {session.parts().opened, modelFingerprint(session.model()), session.transformer().ops().numericsId()};
}

/// Commands on the path to an entry of the timeline.
std::vector<CaptureCommand> commandsOf(const Session& session, int tip) {
  std::vector<CaptureCommand> out;
  const Timeline& timeline = session.timeline();
  const std::vector<PastCommand> commands = session.history().commands(tip);
  const std::vector<bool> there = timeline.inPools();
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const PastCommand& command = commands[i];
    const Timeline::Entry& entry = timeline.entry(command.last);
    CaptureCommand record{.verb = command.verb,
                          .args = command.args,
                          .tick = entry.tick,
                          .commits = command.commits,
                          .decided = command.decided};
    if (!record.args.is_object()) record.args = json::object();
    const bool last = i + 1 == commands.size();
    if (there[at(command.last)] && (last || hashIsDue(i, *entry.state(), session.store())))
      record.hash = captureHash(*entry.state(), session.store());
    out.push_back(std::move(record));
  }
  return out;
}

/// Commands to the end of the branch and back to the current entry: later commands may redo.
std::vector<CaptureCommand> commandsOfBranch(const Session& session) {
  const Timeline& timeline = session.timeline();
  std::vector<CaptureCommand> out = commandsOf(session, timeline.tip());
  for (int id = timeline.tip(); id != timeline.currentId();) {
    id = timeline.entry(id).parent;
    out.push_back({"undo", json::object(), timeline.entry(id).tick, 0});
  }
  return out;
}

// Notes, breakpoints, watches and pending actions of a session as records of its captures, and back.

Error badAside(const std::string& path, const CaptureAside& aside, const std::string& why, const std::string& field) {
  return Error("bad_capture", "cannot replay " + path, aside.place + ": " + why, "use an undamaged copy of the capture",
               field);
}

/// "" or the part of a note's place that the session lacks.
std::string missing(const Session& session, const NoteView& note, int entry) {
  const std::string what = "note " + std::to_string(note.id) + " names ";
  const auto beyond = [](const auto& id, int count) { return id && id->value() >= count; };
  if (note.here && entry < 0)
    return what + "tick " + std::to_string(note.tick.value()) + ", which the branch does not have";
  if (beyond(note.layer, session.cacheLayers().layers)) return what + "a layer that the model does not have";
  if (beyond(note.kvHead, session.model().config().kvHeads)) return what + "a KV head that the model does not have";
  return {};
}

Status restoreNotes(Session& session, const CaptureAside& aside, const std::string& path) {
  for (const NoteView& note : aside.notes) {
    const bool known = session.notes().find(note.id) != nullptr;
    const int entry = note.here && !known ? session.timeline().find(note.tick) : -1;
    if (const std::string why = known ? std::string() : missing(session, note, entry); !why.empty())
      return badAside(path, aside, why, "notes");
    if (!known && session.notes().size() >= kMostNotes)
      return badAside(path, aside, "there are more than " + std::to_string(kMostNotes) + " notes", "notes");
    NoteView restored = note;
    if (note.here) restored.branch = session.timeline().branch();
    session.notes().restore(std::move(restored), entry);
  }
  for (const int id : aside.removed) session.notes().remove(id);
  return ok();
}

Status restoreBreakpoints(Session& session, const CaptureAside& aside, const std::string& path) {
  std::vector<Breakpoints::Point> points;
  for (const BreakpointView& one : *aside.breakpoints) {
    Result<Expression> condition = readExpression(session, one.condition, true);
    if (!condition) return badAside(path, aside, condition.error().why, "condition");
    points.push_back({condition.take(), one});
    points.back().view.condition = points.back().condition.text();
  }
  session.breakpoints().restore(std::move(points));
  return ok();
}

Status restoreWatches(Session& session, const CaptureAside& aside, const std::string& path) {
  std::vector<std::pair<int, Expression>> watches;
  for (const WatchView& one : *aside.watches) {
    Result<Expression> expression = readExpression(session, one.expression, false);
    if (!expression) return badAside(path, aside, expression.error().why, "expression");
    watches.emplace_back(one.id, expression.take());
  }
  session.watches().restore(std::move(watches));
  return ok();
}

/// Actions that cannot be planned are none of this state; whether they fit is asked by the tick, which may make room.
void restoreActions(Session& session, const std::vector<Action>& actions) {
  session.setPending({});
  const Result<EditPlan> possible = plan(session, actions);
  if (possible || possible.error().code == "capacity" || possible.error().code == "over_budget")
    session.setPending(actions);
}

bool same(const std::vector<Action>& a, const std::vector<Action>& b) {
  return std::ranges::equal(
      a, b, {}, [](const Action& one) { return toJson(one); }, [](const Action& one) { return toJson(one); });
}

/// A list in the order of numbers has the note with this text.
bool has(const std::vector<NoteView>& list, const NoteView& note) {
  const auto found = std::ranges::lower_bound(list, note.id, {}, &NoteView::id);
  return found != list.end() && found->id == note.id && found->text == note.text;
}

/// The records for a file that has the commands up to the entry `tip` of the current branch: a note stands behind the
/// command that made its state.
std::vector<CaptureAside> asidesOf(const Session& session, int tip) {
  const Timeline& timeline = session.timeline();
  const std::vector<PastCommand> commands = session.history().commands(tip);
  const auto behind = [&](int entry) {
    const auto made = [&](const PastCommand& one) {
      return timeline.entry(one.last).depth < timeline.entry(entry).depth;
    };
    const auto first = std::ranges::find_if_not(commands, made);
    return static_cast<std::size_t>(first - commands.begin()) + (timeline.entry(entry).parent < 0 ? 0 : 1);
  };
  std::map<std::size_t, CaptureAside> out;
  if (const auto points = session.breakpoints().views()) out[0].breakpoints = *points;
  if (std::vector<WatchView> watches = session.watches().list(); !watches.empty()) out[0].watches = std::move(watches);
  const NoteList notes = session.notes().views(timeline);
  for (NoteView note : notes ? *notes : std::vector<NoteView>()) {
    note.here = timeline.leads(note.entry, tip);
    out[note.here ? behind(note.entry) : 0].notes.push_back(std::move(note));
  }
  std::vector<CaptureAside> all;
  for (auto& [after, aside] : out) all.push_back(std::move(aside)), all.back().after = after;
  return all;
}

/// Applies the record to a session, which has done the commands before the record. Error: bad_capture, with the place
/// of the record in `path`.
Status restoreAside(Session& session, const CaptureAside& aside, const std::string& path) {
  KV_TRY(restoreNotes(session, aside, path));
  if (aside.breakpoints) KV_TRY(restoreBreakpoints(session, aside, path));
  if (aside.watches) KV_TRY(restoreWatches(session, aside, path));
  if (aside.pending) restoreActions(session, *aside.pending);
  session.publish();
  return ok();
}

/// The commands that lead to the present state on a way that has the entry `tip`, and the data beside the state.
Capture captureOf(const Session& session, std::vector<CaptureCommand> commands, int tip) {
  Capture out{headerOf(session), std::move(commands), asidesOf(session, tip)};
  if (session.pending().empty()) return out;
  CaptureAside pending;
  pending.after = out.commands.size();
  pending.pending = session.pending();
  out.asides.push_back(std::move(pending));
  return out;
}

/// The same with the commands that may be redone.
Capture captureOfBranch(const Session& session) {
  return captureOf(session, commandsOfBranch(session), session.timeline().tip());
}

Status checkOrigin(const Session& session, const Capture& capture, const std::string& path) {
  const CaptureHeader here = headerOf(session);
  if (capture.header.numerics != here.numerics)
    return Error("other_numerics", "cannot replay " + path,
                 "it was recorded with " + capture.header.numerics + ", this machine computes with " + here.numerics,
                 "replay it on a machine with the same arithmetic", "numerics", capture.header.numerics);
  if (capture.header.fingerprint != here.fingerprint)
    return Error("other_model", "cannot replay " + path,
                 "it was recorded with model " + capture.header.fingerprint + ", " + session.manifest().model + " is " +
                     here.fingerprint,
                 "use the checkpoint of the recording", "fingerprint", capture.header.fingerprint);
  return ok();
}

Status checkCommands(const Capture& capture, const ReplayOptions& options, const std::string& path) {
  Tick last(0);
  for (std::size_t i = 0; i < capture.commands.size(); ++i) {
    const VerbInfo* verb = verbNamed(capture.commands[i].verb);
    if (!verb || (!verb->recorded() && !bendsPasses(verb->name)))
      return Error("bad_capture", "cannot replay " + path,
                   "record " + std::to_string(capture.commands[i].record) + ": " + capture.commands[i].verb +
                       " is not a command that changes a session",
                   "use an undamaged copy of the capture", "verb", capture.commands[i].verb);
    last = std::max(last, capture.commands[i].tick);
  }
  if (options.to && *options.to > last)
    return Error("out_of_range", "cannot replay " + path + " to tick " + std::to_string(options.to->value()),
                 "its last tick is " + std::to_string(last.value()), "give a tick up to that one", "to",
                 options.to->value());
  return ok();
}

ReplayStep replayStep(Session& session, const CaptureCommand& command, bool verify) {
  ReplayStep step{session.state().tick, command.verb, true, command.hash, {}};
  clearPending(session);  // each command brings its own pending actions
  const Result<json> done =
      session.history().executeAgain(session, {command.verb, command.args, command.commits, -1, command.decided});
  step.tick = session.state().tick;
  if (!done) step.error = done.error();
  else if (step.tick != command.tick)
    step.error = Error("not_replayed", command.verb + " could not be done again",
                       "it ended at tick " + std::to_string(step.tick.value()) + ", in the recording at tick " +
                           std::to_string(command.tick.value()),
                       "report this error together with the capture");
  if (verify) step.got = captureHash(session.state(), session.store());
  step.ok = !step.error && (!verify || step.expected.empty() || step.expected == step.got);
  return step;
}

/// Gives the session the data that the capture holds behind its finished commands.
Status restoreAsides(Session& session, std::span<const CaptureAside>& left, std::size_t done, const std::string& path) {
  for (; !left.empty() && left.front().after <= done; left = left.subspan(1))
    KV_TRY(restoreAside(session, left.front(), path));
  return ok();
}

Error replayCancelled(std::size_t done, std::size_t total) {
  return {"cancelled", "the replay was cancelled",
          "after " + std::to_string(done) + " of " + std::to_string(total) + " commands", "start it again"};
}

}  // namespace

CaptureAside asideSince(const Session& session, const CaptureMark& mark) {
  CaptureAside out;
  const NoteList& before = mark.notes;
  const Timeline& timeline = session.timeline();
  const NoteList now = session.notes().views(timeline);
  const std::vector<NoteView> none, &old = before ? *before : none, &all = now ? *now : none;
  for (NoteView note : now == before ? none : all) {
    if (has(old, note)) continue;
    note.here = timeline.leads(note.entry, timeline.tip());
    out.notes.push_back(std::move(note));
  }
  for (const NoteView& one : now == before ? none : old)
    if (!session.notes().find(one.id)) out.removed.push_back(one.id);
  if (const auto points = session.breakpoints().views(); points != mark.breakpoints)
    out.breakpoints = points ? *points : std::vector<BreakpointView>();
  if (std::vector<WatchView> list = session.watches().list(); list != mark.watches) out.watches = std::move(list);
  if (!same(session.pending(), mark.pending)) out.pending = session.pending();
  return out;
}

Result<json> saveCapture(const Session& session, const std::string& path) {
  const int here = session.timeline().currentId();
  const Capture capture = captureOf(session, commandsOf(session, here), here);
  std::uint64_t next = 0;
  const std::string bytes = captureFile(capture, next);
  KV_TRY(writeWhole(path, bytes));
  return json{{"path", path}, {"commands", capture.commands.size()}, {"bytes", bytes.size()}};
}

Result<json> startCapture(Session& session, const std::string& path) {
  const Capture capture = captureOfBranch(session);
  std::uint64_t next = 0;
  const std::string bytes = captureFile(capture, next);
  json reply{{"path", path}, {"commands", capture.commands.size()}, {"bytes", bytes.size()}};  // before anything begins
  session.history().setCapture(KV_TRY(CaptureLog::open(path, bytes, next)));
  return reply;
}

Status startRecovery(Session& session, const std::string& path) {
  Capture capture = captureOfBranch(session);
  std::string& model = capture.header.manifest.model;  // the next start may be in another folder
  if (std::error_code none; std::filesystem::exists(model, none))
    model = std::filesystem::absolute(model, none).string();
  std::uint64_t next = 0;
  const std::string bytes = captureFile(capture, next);
  const bool whole = session.timeline().branches().size() == 1;
  session.history().setRecovery({KV_TRY(CaptureLog::open(path, bytes, next)), whole});
  return ok();
}

Result<json> stopCapture(Session& session) {
  const CaptureLog* file = session.history().capture();
  if (!file) return json(nullptr);
  json out{{"path", file->path()}};
  const std::optional<Error> failed = file->failure();
  session.history().setCapture(nullptr);
  if (failed) return *failed;  // records in the file are good, but some are missing
  return out;
}

json toJson(const ReplayStep& step) {
  const auto text = [](const std::string& hash) { return hash.empty() ? json(nullptr) : json(hash); };
  json out{{"tick", step.tick.value()},
           {"verb", step.verb},
           {"ok", step.ok},
           {"expected", text(step.expected)},
           {"got", text(step.got)}};
  if (step.error) out["error"] = step.error->toJson();
  return out;
}

bool Replay::ok() const {
  return std::all_of(steps.begin(), steps.end(), [](const ReplayStep& step) { return step.ok; });
}

Result<Replay> replayCapture(const std::string& path, const std::string& resources, const ReplayOptions& options,
                             const Progress& progress) {
  return replayCapture(KV_TRY(openCapture(path)), path, resources, options, progress);
}

Result<Replay> replayCapture(const Capture& capture, const std::string& path, const std::string& resources,
                             const ReplayOptions& options, const Progress& progress) {
  KV_TRY(checkCommands(capture, options, path));
  std::unique_ptr<Session> session = KV_TRY(openSession(capture.header.manifest, resources, progress));
  KV_TRY(checkOrigin(*session, capture, path));
  Replay out{std::move(session), {}, capture.note};
  const std::size_t total = capture.commands.size();
  std::span<const CaptureAside> asides = capture.asides;
  KV_TRY(restoreAsides(*out.session, asides, 0, path));
  for (const CaptureCommand& command : capture.commands) {
    const std::size_t done = out.steps.size();
    if (options.to && out.session->state().tick >= *options.to) break;
    if (!report(progress, "replaying", static_cast<std::int64_t>(done), static_cast<std::int64_t>(total)))
      return replayCancelled(done, total);
    out.steps.push_back(replayStep(*out.session, command, options.verify));
    if (out.steps.back().error) break;
    KV_TRY(restoreAsides(*out.session, asides, done + 1, path));
  }
  if (options.to && out.ok() && out.session->state().tick > *options.to) KV_TRY(goTo(*out.session, *options.to));
  return out;
}

}  // namespace kvlab
