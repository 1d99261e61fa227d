// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/script/script_calls.h"

#include <QDir>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QFileInfo>
#include <QTimer>
#include <algorithm>

#include "app/base/frozen_clock.h"
#include "app/script/input_gate.h"
#include "core/api/texts.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

QString packed(const Json& json) {
  return QString::fromStdString(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}
Error closedSession(int handle) {
  return {"closed_session", "session " + std::to_string(handle) + " was not called", "it has been closed",
          "open another one with lab.open"};
}
Error badArgument(const std::string& what, const std::string& why, const std::string& field, const Json& value) {
  return {"bad_argument", what, why, "see script_api.d.ts", {}, field, value};
}

}  // namespace

QString ScriptCalls::answer(const Result<Json>& result) {
  return result ? packed({{"value", *result}}) : packed({{"error", result.error().toJson()}});
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
  return packed(list);
}

QString ScriptCalls::tables() const {
  Json list = Json::array();
  for (const TableInfo& table : m_settings.schema.tables) {
    list.push_back({{"name", table.name}, {"args", Json::array()}, {"columns", Json::array()}});
    for (const ArgInfo& arg : table.args) list.back()["args"].push_back(arg.name);
    for (const ColumnInfo& column : table.columns) list.back()["columns"].push_back(column.name);
  }
  return packed(list);
}

QString ScriptCalls::args() const {
  Json list = Json::array();
  for (const QString& arg : m_settings.args) list.push_back(arg.toStdString());
  return packed(list);
}

QString ScriptCalls::call(int handle, const QString& verb, const QString& args) {
  const auto found = m_sessions.find(handle);
  if (found == m_sessions.end()) return answer(closedSession(handle));
  const SessionPtr session = found->second;
  Json given = Json::parse(args.toStdString(), nullptr, false);
  resolvePaths(verb.toStdString(), given);
  const auto reply = std::make_shared<Answer>();
  session->submit(verb.toStdString(), given, [reply](const Result<Json>& r) { reply->emplace(r); });
  const auto stopping = connect(this, &ScriptCalls::stopped, this, [session] { session->cancel(); });
  wait([reply] { return reply->has_value(); });
  disconnect(stopping);
  if (!reply->has_value()) return answer(cancelled());
  if (**reply && m_window.clockFrozen()) stopTimes(***reply);
  return answer(**reply);
}

QString ScriptCalls::open(const QString& request) {
  auto opened = openNow(Json::parse(request.toStdString(), nullptr, false));
  if (opened) return answer(opened);
  Json error = opened.error().toJson();
  error["refused"] = true;
  return packed({{"error", error}});
}

Result<Json> ScriptCalls::openNow(Json request) {
  if (request.contains("capture")) {
    if (!request["capture"].is_string())
      return badArgument("the capture was not opened", "the path is not a string", "path", request["capture"]);
    if (const std::string fault = pathFault(request["capture"].get<std::string>()); !fault.empty())
      return badArgument("the capture was not opened", "the path " + fault, "path", request["capture"]);
    request["capture"] = resolved(request["capture"], false);
  } else {
    if (!request["manifest"].is_object())
      return badArgument("the session was not opened", "the manifest is not an object", "manifest",
                         request["manifest"]);
    Json manifest = m_settings.manifest;
    manifest.merge_patch(request["manifest"]);
    request["manifest"] = manifest;
  }
  const auto reply = std::make_shared<std::optional<Result<SessionPtr>>>();
  m_window.openSession(request, [reply](const Result<SessionPtr>& r) { reply->emplace(r); });
  wait([reply] { return reply->has_value(); });
  if (!reply->has_value()) return cancelled();
  if (!**reply) return (*reply)->error();
  return Json(handleOf(***reply));
}

int ScriptCalls::handleOf(const SessionPtr& session) {
  for (const auto& [handle, known] : m_sessions)
    if (known == session) return handle;
  m_sessions[m_nextHandle] = session;
  return m_nextHandle++;
}

QString ScriptCalls::fork(int handle) {
  const auto found = m_sessions.find(handle);
  if (found == m_sessions.end()) return answer(closedSession(handle));
  const auto reply = std::make_shared<std::optional<Result<SessionPtr>>>();
  found->second->fork([reply](const Result<SessionPtr>& r) { reply->emplace(r); });
  wait([reply] { return reply->has_value(); });
  if (!reply->has_value()) return answer(cancelled());
  if (!**reply) return answer((*reply)->error());
  m_window.showSession(***reply);
  return answer(Result<Json>(Json(handleOf(***reply))));
}

QString ScriptCalls::current() {
  const SessionPtr session = m_window.session();
  return answer(Result<Json>(session ? Json(handleOf(session)) : Json()));
}

QString ScriptCalls::show(int handle) {
  const auto found = m_sessions.find(handle);
  if (found == m_sessions.end()) return answer(closedSession(handle));
  m_window.showSession(found->second);
  return answer(Json());
}

QString ScriptCalls::close(int handle) {
  const auto found = m_sessions.find(handle);
  if (found == m_sessions.end()) return answer(closedSession(handle));
  m_window.closeSession(found->second);
  m_sessions.erase(found);
  return answer(Json());
}

QString ScriptCalls::readText(const QString& path) const { return answer(readNow(path)); }
QString ScriptCalls::writeText(const QString& path, const QString& text) const { return answer(writeNow(path, text)); }

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
