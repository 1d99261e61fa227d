// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/capture_session.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "core/files/fingerprint.h"
#include "core/model/files/part_file.h"
#include "core/session/requests.h"
#include "core/session/state_hash.h"
#include "core/verbs/capture_aside_session.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr std::int64_t kHashedBytes = std::int64_t{64} << 20;
constexpr std::size_t kHashPeriod = 16;

std::int64_t liveBytes(const CacheState& state, const CacheStore& store) {
  std::int64_t bytes = 0;
  for (const CacheLayer layer : state.layers())
    bytes += store.pool(layer).stride() * static_cast<std::int64_t>(state.map(layer).size());
  return bytes;
}

std::string hashOf(const CacheState& state, const CacheStore& store) { return stateHash(state, store, {}); }

/// The manifest at opening: recorded commands include later changes such as setFormat.
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
    CaptureCommand record{command.verb, command.args, entry.tick, command.commits};
    if (!record.args.is_object()) record.args = json::object();
    const bool last = i + 1 == commands.size();
    if (there[at(command.last)] &&
        (last || i % kHashPeriod == 0 || liveBytes(*entry.state(), session.store()) < kHashedBytes))
      record.hash = hashOf(*entry.state(), session.store());
    out.push_back(std::move(record));
  }
  return out;
}

/// Commands to the end of the branch and back to the current entry: what follows may redo.
std::vector<CaptureCommand> commandsOfBranch(const Session& session) {
  const Timeline& timeline = session.timeline();
  std::vector<CaptureCommand> out = commandsOf(session, timeline.tip());
  for (int id = timeline.tip(); id != timeline.currentId();) {
    id = timeline.entry(id).parent;
    out.push_back({"undo", json::object(), timeline.entry(id).tick, 0});
  }
  return out;
}

/// The commands, and the notes, breakpoints and watches among those that lead to the entry `tip`.
std::string captureOf(const Session& session, std::vector<CaptureCommand> commands, int tip, std::uint64_t& next) {
  return captureFile({headerOf(session), std::move(commands), asidesOf(session, tip)}, next);
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
    if (!verb || !verb->recorded())
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
  const Result<json> done = session.history().executeAgain(session, {command.verb, command.args, command.commits});
  step.tick = session.state().tick;
  if (!done) step.error = done.error();
  else if (step.tick != command.tick)
    step.error = Error("not_replayed", command.verb + " could not be done again",
                       "it ended at tick " + std::to_string(step.tick.value()) + ", in the recording at tick " +
                           std::to_string(command.tick.value()),
                       "report this error together with the capture");
  if (verify) step.got = hashOf(session.state(), session.store());
  step.ok = !step.error && (!verify || step.expected.empty() || step.expected == step.got);
  return step;
}

}  // namespace

Result<json> saveCapture(const Session& session, const std::string& path) {
  const int tip = session.timeline().currentId();
  std::vector<CaptureCommand> commands = commandsOf(session, tip);
  const std::size_t count = commands.size();
  std::uint64_t next = 0;
  const std::string bytes = captureOf(session, std::move(commands), tip, next);
  PartFile file(path);
  file.append(bytes.data(), bytes.size());
  KV_TRY(file.publish());
  return json{{"path", path}, {"commands", count}, {"bytes", bytes.size()}};
}

Result<json> startCapture(Session& session, const std::string& path) {
  std::vector<CaptureCommand> commands = commandsOfBranch(session);
  const std::size_t count = commands.size();
  std::uint64_t next = 0;
  const std::string bytes = captureOf(session, std::move(commands), session.timeline().tip(), next);
  std::unique_ptr<CaptureLog> log = KV_TRY(CaptureLog::open(path, bytes, next));
  session.history().setCapture(std::move(log));
  return json{{"path", path}, {"commands", count}, {"bytes", bytes.size()}};
}

Result<json> stopCapture(Session& session) {
  if (!session.history().capture()) return json(nullptr);
  json out{{"path", session.history().capture()->path()}};
  session.history().setCapture(nullptr);
  return out;
}

CaptureMark markCapture(Session& session) {
  if (!session.history().capture() || session.history().replaying()) return {};
  return {
      session.timeline().size(),     session.timeline().currentId(), true, session.notes().views(session.timeline()),
      session.breakpoints().views(), session.watches().list()};
}

namespace {

void appendCommand(Session& session, const CaptureMark& mark, const std::string& verb, const json& args) {
  const Timeline& timeline = session.timeline();
  const bool restarted = timeline.size() < mark.entries;  // reset starts a new timeline
  const int made = restarted ? 0 : timeline.size() - mark.entries;
  if (!restarted && made == 0 && timeline.currentId() == mark.current) return;
  CaptureCommand record{verb, args.is_object() ? args : json::object(), session.state().tick, made};
  if (made > 0) {  // the command that the history knows: a step, whichever verb ended a tick that had been stopped
    const Timeline::Entry& entry = timeline.entry(mark.entries);
    record.args = entry.args;
    if (!entry.verb.empty()) record.verb = entry.verb;
  }
  if (session.history().capture()->next() % kHashPeriod == 0 ||
      liveBytes(session.state(), session.store()) < kHashedBytes)
    record.hash = hashOf(session.state(), session.store());
  if (Status appended = session.history().capture()->append(record); !appended)
    spdlog::error("{}", appended.error().text());
}

void appendAside(Session& session, const CaptureMark& mark) {
  const CaptureAside aside = asideSince(session, mark.notes, mark.breakpoints, mark.watches);
  if (aside.empty()) return;
  if (Status appended = session.history().capture()->append(aside); !appended)
    spdlog::error("{}", appended.error().text());
}

}  // namespace

void appendCapture(Session& session, const CaptureMark& mark, const std::string& verb, const json& args) {
  if (!mark.live || !session.history().capture()) return;
  appendCommand(session, mark, verb, args);
  appendAside(session, mark);
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
  const Capture capture = KV_TRY(openCapture(path));
  KV_TRY(checkCommands(capture, options, path));
  std::unique_ptr<Session> session = KV_TRY(openSession(capture.header.manifest, resources, progress));
  KV_TRY(checkOrigin(*session, capture, path));
  Replay out{std::move(session), {}, capture.note};
  const auto total = static_cast<std::int64_t>(capture.commands.size());
  auto aside = capture.asides.begin();
  const auto restore = [&]() -> Status {  // what the file says behind the commands that are done
    for (; aside != capture.asides.end() && aside->after <= out.steps.size(); ++aside)
      KV_TRY(restoreAside(*out.session, *aside, path));
    return ok();
  };
  KV_TRY(restore());
  for (const CaptureCommand& command : capture.commands) {
    if (options.to && out.session->state().tick >= *options.to) break;
    if (!report(progress, "replaying", static_cast<std::int64_t>(out.steps.size()), total))
      return Error("cancelled", "the replay was cancelled",
                   "after " + std::to_string(out.steps.size()) + " of " + std::to_string(total) + " commands",
                   "start it again");
    out.steps.push_back(replayStep(*out.session, command, options.verify));
    if (out.steps.back().error) break;
    KV_TRY(restore());
  }
  if (options.to && out.ok() && out.session->state().tick > *options.to) KV_TRY(goTo(*out.session, *options.to));
  return out;
}

}  // namespace kvlab
