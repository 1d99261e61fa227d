// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/windowless/script_runner.h"

#include "app/plain/core_replay.h"
#include "app/plain/read_file.h"
#include "app/plain/script_files.h"
#include "app/plain/script_lines.h"
#include "core/api/guarded.h"
#include "core/api/stopwatch.h"
#include "core/api/texts.h"
#include "core/experiment/sweep_moment.h"
#include "core/tables/tables.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using Json = nlohmann::json;

Error needsWindow(const std::string& call) {
  return {"unsupported", call + " was refused", "this program was built without Qt", "use the program with a window"};
}

/// {"value":..} or {"error":..} as text.
std::string answerText(const Result<Json>& result) {
  return result ? scriptText({{"value", *result}}) : scriptText({{"error", result.error().toJson()}});
}

}  // namespace

ScriptRunner::ScriptRunner(RunnerSettings settings)
    : m_settings(std::move(settings)), m_schema{verbs(), {tables().begin(), tables().end()}}, m_engine(natives()) {}

std::vector<ScriptEngine::Named> ScriptRunner::natives() {
  using Answer = ScriptEngine::Answer;
  const auto answering = [this](Result<Json> (ScriptRunner::*work)(const Args&)) -> ScriptEngine::Native {
    return [this, work](const Args& args) -> Answer {
      return answerText(guarded("the call was stopped", [&] { return (this->*work)(args); }));
    };
  };
  const auto refusing = [](const char* call) -> ScriptEngine::Native {
    return [call](const Args&) -> Answer { return answerText(needsWindow(call)); };
  };
  return {{"verbs", [this](const Args&) -> Answer { return scriptText(scriptVerbs(m_schema)); }},
          {"tables", [this](const Args&) -> Answer { return scriptText(scriptTables(m_schema)); }},
          {"args", [this](const Args&) -> Answer { return scriptText(m_settings.args); }},
          {"call", answering(&ScriptRunner::call)},
          {"open", answering(&ScriptRunner::open)},
          {"fork", answering(&ScriptRunner::fork)},
          {"close", answering(&ScriptRunner::close)},
          {"current", [this](const Args&) -> Answer { return answerText(m_current ? Json(m_current) : Json()); }},
          {"show",
           [this](const Args& args) -> Answer {
             const Result<SessionHolder*> shown = holderOf(args.at(0));
             if (shown) m_current = std::stoi(args[0]);
             return answerText(shown ? Result<Json>(Json()) : shown.error());
           }},
          {"readText",
           [this](const Args& args) -> Answer {
             return answerText(readScriptText(m_settings.out, m_settings.resources, args.at(0)));
           }},
          {"writeText",
           [this](const Args& args) -> Answer {
             return answerText(writeScriptText(m_settings.out, args.at(0), args.at(1)));
           }},
          {"now", [watch = Stopwatch()](const Args&) -> Answer { return watch.us() / 1000; }},
          {"log",
           [this](const Args& args) -> Answer {
             if (m_settings.log) m_settings.log(args.at(0));
             return {};
           }},
          {"view", refusing("the call of a view")},
          {"sweep", refusing("lab.sweep")}};
}

Result<std::string> ScriptRunner::runFile(const std::string& path) {
  const std::string text = KV_TRY(readBounded(path, "script " + path + " was not run"));
  return runText(text, path);
}

Result<SessionHolder*> ScriptRunner::holderOf(const std::string& handle) {
  if (const auto found = m_holders.find(std::stoi(handle)); found != m_holders.end()) return found->second.get();
  return Error("closed_session", "session " + handle + " was not called", "it has been closed",
               "open another one with lab.open");
}

int ScriptRunner::added(std::unique_ptr<SessionHolder> holder) {
  m_current = m_nextHandle++;
  m_holders[m_current] = std::move(holder);
  return m_current;
}

Result<Json> ScriptRunner::call(const Args& args) {
  SessionHolder* const holder = KV_TRY(holderOf(args.at(0)));
  Json given = Json::parse(args.at(2), nullptr, false);
  resolveScriptPaths(m_schema.verbs, m_settings.out, args[1], given);
  return holder->execute(args[1], given);
}

Result<std::unique_ptr<Session>> ScriptRunner::opened(const Json& request) const {
  const auto pathOf = [&](const char* key, const std::string& what) -> Result<std::string> {
    const std::string given = request.at(key).is_string() ? request.at(key).get<std::string>() : "";
    if (const std::string fault = pathFault(given); !fault.empty())
      return Error("bad_argument", what, "the path " + fault, "give the name of a file", "path", request.at(key));
    return scriptPath(m_settings.out, given, false);
  };
  if (request.contains("capture"))
    return openCaptured(KV_TRY(pathOf("capture", "the capture was not opened")), m_settings.resources, {}, {});
  if (request.contains("sweep")) {
    SweepPlace place{KV_TRY(pathOf("sweep", "the cell was not opened"))};
    for (const char* number : {"cell", "question"})
      if (!request.at(number).is_number_integer())
        return Error("bad_argument", "the cell was not opened", std::string(number) + " is no whole number",
                     "see script_api.d.ts", number, request.at(number));
    place.cell = request.at("cell");
    place.question = request.at("question");
    SweepMoment moment = KV_TRY(openSweepCell(place, m_settings.resources));
    return std::move(moment.session);
  }
  if (!request.at("manifest").is_object())
    return Error("bad_argument", "the session was not opened", "the manifest is not an object", "see script_api.d.ts",
                 "manifest", request.at("manifest"));
  Json manifest = m_settings.manifest;
  manifest.merge_patch(request.at("manifest"));
  return openSession(KV_TRY(Manifest::fromJson(manifest)), m_settings.resources);
}

Result<Json> ScriptRunner::open(const Args& args) {
  std::unique_ptr<Session> session = KV_TRY(opened(Json::parse(args.at(0), nullptr, false)));
  return Json(added(std::make_unique<SessionHolder>(std::move(session))));
}

Result<Json> ScriptRunner::fork(const Args& args) {
  SessionHolder* const holder = KV_TRY(holderOf(args.at(0)));
  return Json(added(KV_TRY(holder->fork())));
}

Result<Json> ScriptRunner::close(const Args& args) {
  KV_TRY(holderOf(args.at(0)));
  const int handle = std::stoi(args[0]);
  m_holders.erase(handle);
  if (m_current == handle) m_current = 0;
  return Json();
}

}  // namespace kvlab
