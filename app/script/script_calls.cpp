// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/script/script_calls.h"

#include <QCoreApplication>
#include <QEventLoop>
#include <QTimer>

#include "app/base/frozen_clock.h"
#include "app/plain/script_files.h"
#include "app/plain/script_lines.h"
#include "app/script/input_gate.h"
#include "core/api/texts.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

Error badArgument(const std::string& what, const std::string& why, const std::string& field, const Json& value) {
  return {"bad_argument", what, why, "see script_api.d.ts", field, value};
}

}  // namespace

QString ScriptCalls::answer(const Result<Json>& result) {
  return QString::fromStdString(result ? scriptText({{"value", *result}})
                                       : scriptText({{"error", result.error().toJson()}}));
}

Error ScriptCalls::cancelled() {
  return {"cancelled", "the script was stopped", "somebody asked for it", "run it again"};
}

QString ScriptCalls::verbs() const { return QString::fromStdString(scriptText(scriptVerbs(m_settings.schema))); }

QString ScriptCalls::tables() const { return QString::fromStdString(scriptText(scriptTables(m_settings.schema))); }

QString ScriptCalls::args() const {
  Json list = Json::array();
  for (const QString& arg : m_settings.args) list.push_back(arg.toStdString());
  return QString::fromStdString(scriptText(list));
}

Result<SessionPtr> ScriptCalls::sessionOf(int handle) const {
  if (const auto found = m_sessions.find(handle); found != m_sessions.end()) return found->second;
  return Error("closed_session", "session " + std::to_string(handle) + " was not called", "it has been closed",
               "open another one with lab.open");
}

Result<Json> ScriptCalls::call(int handle, const QString& verb, const QString& args) {
  const SessionPtr session = KV_TRY(sessionOf(handle));
  Json given = Json::parse(args.toStdString(), nullptr, false);
  resolveScriptPaths(m_settings.schema.verbs, m_settings.out.toStdString(), verb.toStdString(), given);
  const auto submit = [&](auto reply) { session->submit(verb.toStdString(), given, reply); };
  Json reply = KV_TRY(answered<Json>(submit, [session] { session->cancel(); }));
  if (m_window.clockFrozen()) stopTimes(reply);
  return reply;
}

Result<Json> ScriptCalls::open(const QString& text) {
  Json request = Json::parse(text.toStdString(), nullptr, false);
  const auto path = [&](const char* key, const std::string& what) -> Status {
    if (!request[key].is_string()) return badArgument(what, "the path is not a string", "path", request[key]);
    if (const std::string fault = pathFault(request[key].get<std::string>()); !fault.empty())
      return badArgument(what, "the path " + fault, "path", request[key]);
    request[key] = resolved(request[key], false);
    return ok();
  };
  if (request.contains("capture")) {
    KV_TRY(path("capture", "the capture was not opened"));
  } else if (request.contains("sweep")) {
    KV_TRY(path("sweep", "the cell was not opened"));
    for (const char* number : {"cell", "question"})
      if (!request[number].is_number_integer())
        return badArgument("the cell was not opened", std::string(number) + " is no whole number", number,
                           request[number]);
  } else {
    if (!request["manifest"].is_object())
      return badArgument("the session was not opened", "the manifest is not an object", "manifest",
                         request["manifest"]);
    Json manifest = m_settings.manifest;
    manifest.merge_patch(request["manifest"]);
    request["manifest"] = manifest;
  }
  const SessionPtr opened = KV_TRY(answered<SessionPtr>([&](auto reply) { m_window.openSession(request, reply); }));
  return Json(handleOf(opened));
}

int ScriptCalls::handleOf(const SessionPtr& session) {
  for (const auto& [handle, known] : m_sessions)
    if (known == session) return handle;
  m_sessions[m_nextHandle] = session;
  return m_nextHandle++;
}

Result<Json> ScriptCalls::fork(int handle) {
  const SessionPtr session = KV_TRY(sessionOf(handle));
  const SessionPtr forked = KV_TRY(answered<SessionPtr>([&](auto reply) { session->fork(reply); }));
  m_window.showSession(forked);
  return Json(handleOf(forked));
}

Result<Json> ScriptCalls::current() {
  const SessionPtr session = m_window.session();
  return session ? Json(handleOf(session)) : Json();
}

Result<Json> ScriptCalls::show(int handle) {
  m_window.showSession(KV_TRY(sessionOf(handle)));
  return Json();
}

Result<Json> ScriptCalls::close(int handle) {
  m_window.closeSession(KV_TRY(sessionOf(handle)));
  m_sessions.erase(handle);
  return Json();
}

void ScriptCalls::log(const QString& text) {
  if (m_settings.log) m_settings.log(text);
}

/// Runs the event loop until done() or stop(); input reaches only marked widgets.
void ScriptCalls::wait(const std::function<bool()>& done) {
  if (onCall) onCall(true);
  const InputGate gate;
  QEventLoop loop;
  QTimer pulse;  // done() may become true without an event
  pulse.start(15);
  while (!m_stopped && !done()) {
    loop.processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents);
    if (expired && expired()) stop();
  }
  // A script does not return to the loop that deletes objects: objects that layouts leave behind would pile up until
  // its end.
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  if (onCall) onCall(false);
}

void ScriptCalls::stop() {
  emit stopped();
  m_stopped = true;
}

std::string ScriptCalls::resolved(const std::string& path, bool write) const {
  return scriptPath(m_settings.out.toStdString(), path, write);
}

}  // namespace kvlab
