// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/plain/core_replay.h"

#include "core/api/log.h"
#include "core/api/part_file.h"
#include "core/model/files/mapped_file.h"
#include "core/verbs/capture_session.h"

namespace kvlab {

using nlohmann::json;

namespace {

ReplayOptions optionsOf(std::optional<std::int64_t> to, bool verify) {
  ReplayOptions options;
  if (to) options.to = Tick(*to);
  options.verify = verify;
  return options;
}

/// The first thing that is not as it was before the program ended.
std::optional<Error> lostOf(const Replay& replay, const Capture& capture) {
  const std::size_t done = replay.steps.size();
  if (!replay.ok()) {
    const Error& why = *replay.steps.back().error;
    return Error(why.code, "the session was not restored whole",
                 "command " + std::to_string(done) + " of " + std::to_string(capture.commands.size()) + ", " +
                     replay.steps.back().verb + ": " + why.what + ": " + why.why,
                 "the session stands before this command; " + why.remedy);
  }
  const std::string wanted = done > 0 ? capture.commands.back().hash : std::string();
  const std::string got = wanted.empty() ? wanted : captureHash(replay.session->state(), replay.session->store());
  if (got == wanted) return std::nullopt;
  return Error("not_replayed", "the session was not restored as it was",
               "its state hash is " + got + ", it was " + wanted,
               "see whether a file that the session used has changed");
}

/// A recovery that cannot go on with its file begins a new one, and the old one stays beside it.
Status beginAgain(Session& session, const std::string& path, Error& lost) {
  const std::string copy = path.substr(0, path.rfind(".kvcap")) + "-lost.kvcap";
  const auto old = KV_TRY(MappedFile::open(path));
  KV_TRY(writeWhole(copy, {reinterpret_cast<const char*>(old->bytes().data()), old->bytes().size()}));
  lost.remedy += "; " + copy + " has all commands";
  return startRecovery(session, path);
}

}  // namespace

Result<std::unique_ptr<Session>> openCaptured(const std::string& path, const std::string& resources,
                                              std::optional<std::int64_t> to, const Progress& progress) {
  Replay replay = KV_TRY(replayCapture(path, resources, optionsOf(to, false), progress));
  if (!replay.note.empty()) logWarning(path + ": " + replay.note);
  if (!replay.ok()) {
    Error error = *replay.steps.back().error;
    error.what = path + ": command " + std::to_string(replay.steps.size()) + ": " + error.what;
    return error;
  }
  return std::move(replay.session);
}

Result<Recovered> openRecovered(const std::string& path, const std::string& resources, const Progress& progress) {
  const Capture capture = KV_TRY(openCapture(path));
  Replay replay = KV_TRY(replayCapture(capture, path, resources, {}, progress));
  if (!capture.note.empty()) logInfo(path + ": " + capture.note);
  std::optional<Error> lost = lostOf(replay, capture);
  Recovered out{std::move(replay.session), std::move(lost)};
  if (out.lost) KV_TRY(beginAgain(*out.session, path, *out.lost));
  else out.session->history().setRecovery({KV_TRY(CaptureLog::resume(path, capture)), true});
  return out;
}

Result<RecoveryFacts> recoveryFacts(const std::string& path) {
  const Capture capture = KV_TRY(openCapture(path));
  RecoveryFacts out{capture.header.manifest.model, static_cast<std::int64_t>(capture.commands.size())};
  if (!capture.commands.empty()) out.tick = capture.commands.back().tick.value();
  return out;
}

Result<json> replayTable(const std::string& path, const std::string& resources, std::optional<std::int64_t> to,
                         bool verify) {
  const Replay replay = KV_TRY(replayCapture(path, resources, optionsOf(to, verify)));
  json steps = json::array();
  for (const ReplayStep& step : replay.steps) steps.push_back(toJson(step));
  return json{{"ok", replay.ok()}, {"note", replay.note}, {"steps", std::move(steps)}};
}

}  // namespace kvlab
