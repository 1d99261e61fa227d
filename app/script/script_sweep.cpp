// SPDX-License-Identifier: GPL-3.0-or-later
// lab.sweep: runs a sweep and waits for it.
#include <QDir>

#include "app/script/script_calls.h"
#include "core/api/texts.h"

namespace kvlab {

QString ScriptCalls::sweep(const QString& request) {
  auto done = sweepNow(Json::parse(request.toStdString(), nullptr, false));
  if (done) return answer(done);
  Json error = done.error().toJson();
  error["refused"] = done.error().code != "cancelled" && done.error().code != "bad_argument";
  return QString::fromStdString(Json{{"error", error}}.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<ScriptCalls::Json> ScriptCalls::sweepNow(Json given) {
  Json request = given["options"];
  const auto refused = [](const std::string& why, const char* remedy, const char* field, const Json& value) {
    return Error{"bad_argument", "the sweep was not started", why, remedy, {}, field, value};
  };
  if (!request.is_object())
    return refused("the options are not an object", "name them, as in {out: \"folder\", resume: true}", "options",
                   request);
  request["spec"] = given["spec"];
  for (const char* field : {"spec", "out"}) {
    const Json path = request.value(field, Json());
    const std::string fault = path.is_string() ? pathFault(path.get<std::string>()) : std::string();
    if (!fault.empty())
      return refused(std::string(field) + " " + fault, "give the name of a file or folder", field, path);
  }
  const QString scheme = QStringLiteral("resource:");
  if (const Json spec = request.value("spec", Json()); spec.is_string()) {
    const QString path = QString::fromStdString(spec.get<std::string>());
    request["spec"] = path.startsWith(scheme)
        ? QDir(m_settings.resources).filePath(path.mid(scheme.size())).toStdString()
        : resolved(spec.get<std::string>(), false);
  }
  if (const Json out = request.value("out", Json("")); out.is_string()) {
    const Json spec = request.value("spec", Json());
    const Json name = spec.is_object() ? spec.value("name", Json("sweep")) : Json();
    const std::string own = name.is_string() ? name.get<std::string>() + ".sweep" : std::string();
    if (!out.get<std::string>().empty() || (!own.empty() && !m_settings.out.isEmpty()))
      request["out"] = resolved(out.get<std::string>().empty() ? own : out.get<std::string>(), true);
  }
  const auto reply = std::make_shared<Answer>();
  m_window.sweeps().start(request, [reply](const Result<Json>& r) { reply->emplace(r); });
  const auto stopping = connect(this, &ScriptCalls::stopped, this, [this] { m_window.sweeps().stop(); });
  wait([reply] { return reply->has_value(); });
  disconnect(stopping);
  if (!reply->has_value()) return cancelled();
  return std::move(**reply);
}

}  // namespace kvlab
