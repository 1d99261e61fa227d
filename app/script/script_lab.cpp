// SPDX-License-Identifier: GPL-3.0-or-later
// The global `lab` of the script language beside sessions: text files that scripts read and write, and sweeps.
#include <QDir>

#include "app/plain/script_files.h"
#include "app/script/script_calls.h"
#include "core/api/texts.h"

namespace kvlab {

using Json = nlohmann::json;

Result<Json> ScriptCalls::readText(const QString& path) const {
  return readScriptText(m_settings.out.toStdString(), m_settings.resources.toStdString(), path.toStdString());
}

Result<Json> ScriptCalls::writeText(const QString& path, const QString& text) const {
  return writeScriptText(m_settings.out.toStdString(), path.toStdString(), text.toStdString());
}

/// Runs a sweep and waits for it.
Result<Json> ScriptCalls::sweep(const QString& text) {
  Json given = Json::parse(text.toStdString(), nullptr, false);
  Json request = given["options"];
  const auto refused = [](const std::string& why, const char* remedy, const char* field, const Json& value) {
    return Error{"bad_argument", "the sweep was not started", why, remedy, field, value};
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
  return answered<Json>([&](auto reply) { m_window.sweeps().start(request, reply); },
                        [this] { m_window.sweeps().stop(); });
}

}  // namespace kvlab
