// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/script/script_calls.h"

#include <QCoreApplication>
#include <QDir>
#include <QEventLoop>
#include <QFileInfo>
#include <QTimer>
#include <algorithm>

#include "app/base/frozen_clock.h"
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

QString ScriptCalls::verbs() const {
  Json list = Json::array();
  for (const VerbInfo& verb : m_settings.schema.verbs) {
    Json args = Json::array();
    for (const ArgInfo& arg : verb.args) args.push_back(arg.name);
    list.push_back({{"name", verb.name}, {"args", args}, {"lanes", name(verb.lanes)}, {"ofLanes", verb.ofLanes()}});
  }
  return QString::fromStdString(scriptText(list));
}

QString ScriptCalls::tables() const {
  Json list = Json::array();
  for (const TableInfo& table : m_settings.schema.tables) {
    list.push_back({{"name", table.name}, {"args", Json::array()}, {"columns", Json::array()}});
    for (const ArgInfo& arg : table.args) list.back()["args"].push_back(arg.name);
    for (const ColumnInfo& column : table.columns) list.back()["columns"].push_back(column.name);
  }
  return QString::fromStdString(scriptText(list));
}

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
  resolvePaths(verb.toStdString(), given);
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
  const QString given = QString::fromStdString(path);
  if (m_settings.out.isEmpty() || QDir::isAbsolutePath(given)) return path;
  const QString inside = QDir(m_settings.out).filePath(given);
  return write || QFileInfo::exists(inside) ? inside.toStdString() : path;
}

/// Resolves paths that a verb reads or writes according to its table, including those of a verb inside its arguments.
void ScriptCalls::resolvePaths(const std::string& verb, Json& args) const {
  const auto info = std::find_if(m_settings.schema.verbs.begin(), m_settings.schema.verbs.end(),
                                 [&](const VerbInfo& one) { return one.name == verb; });
  if (info == m_settings.schema.verbs.end() || !args.is_object()) return;
  std::string called;
  for (const ArgInfo& arg : info->args) {
    const auto found = args.find(arg.name);
    if (found == args.end()) continue;
    if (arg.type == ArgType::Verb && found->is_string()) called = found->get<std::string>();
    if (arg.type == ArgType::Arguments && called != verb) resolvePaths(called, *found);
    if (arg.type == ArgType::Path && found->is_string() && pathFault(found->get<std::string>()).empty())
      resolvePath(arg.written, *found);
  }
}

void ScriptCalls::resolvePath(bool written, Json& path) const {
  path = resolved(path.get<std::string>(), written);
  if (!written || m_settings.out.isEmpty()) return;
  QDir().mkpath(QFileInfo(QString::fromStdString(path.get<std::string>())).absolutePath());
}

}  // namespace kvlab
