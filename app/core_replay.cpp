// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/core_replay.h"

#include <spdlog/spdlog.h>

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

}  // namespace

Result<std::unique_ptr<Session>> openCaptured(const std::string& path, const std::string& resources,
                                              std::optional<std::int64_t> to, const Progress& progress) {
  Result<Replay> replay = replayCapture(path, resources, optionsOf(to, false), progress);
  if (!replay) return replay.error();
  if (!replay->note.empty()) spdlog::warn("{}: {}", path, replay->note);
  if (!replay->ok()) {
    Error error = *replay->steps.back().error;
    error.what = path + ": command " + std::to_string(replay->steps.size()) + ": " + error.what;
    return error;
  }
  return std::move(replay->session);
}

Result<json> replayTable(const std::string& path, const std::string& resources, std::optional<std::int64_t> to,
                         bool verify) {
  const Result<Replay> replay = replayCapture(path, resources, optionsOf(to, verify));
  if (!replay) return replay.error();
  json steps = json::array();
  for (const ReplayStep& step : replay->steps) steps.push_back(toJson(step));
  return json{{"ok", replay->ok()}, {"note", replay->note}, {"steps", std::move(steps)}};
}

}  // namespace kvlab
