// SPDX-License-Identifier: GPL-3.0-or-later
// The global `lab` of the script language beside sessions: text files that scripts read and write, and sweeps.
#include <QDir>
#include <QFile>
#include <QFileInfo>

#include "app/plain/read_file.h"
#include "app/script/script_calls.h"
#include "core/api/texts.h"
#include "widgets/base/save_file.h"

namespace kvlab {
namespace {

using Json = nlohmann::json;

Error fileError(const std::string& code, const std::string& what, const std::string& why, const std::string& remedy,
                const QString& path) {
  return {code, what, why, remedy, "path", path.toStdString()};
}

Status isPath(const std::string& call, const QString& path) {
  const std::string fault = pathFault(path.toStdString());
  if (fault.empty()) return ok();
  return fileError("bad_argument", call + " was refused", "path " + fault, "give the name of a file", path);
}

/// The path of "resource:NAME"; it must stay inside the folder.
Result<QString> shipped(const QString& root, const QString& name) {
  const QString path = QDir::cleanPath(name);
  const auto refused = [&](const std::string& why) {
    return fileError("bad_argument", "resource:" + name.toStdString() + " was not read", why,
                     "name a file below resources, as in resource:demo/story.txt", "resource:" + name);
  };
  if (path.isEmpty() || QDir::isAbsolutePath(path) || path.startsWith(".."))
    return refused("it lies outside of the program's resources");
  if (root.isEmpty()) return refused("the program has found no resources");
  return QDir(root).filePath(path);
}

}  // namespace

Result<Json> ScriptCalls::readText(const QString& given) const {
  KV_TRY(isPath("lab.readText", given));
  QString path = QString::fromStdString(resolved(given.toStdString(), false));
  if (const QString scheme = QStringLiteral("resource:"); given.startsWith(scheme))
    path = KV_TRY(shipped(m_settings.resources, given.mid(scheme.size())));
  const Result<std::string> bytes = readBounded(path.toStdString(), given.toStdString() + " was not read");
  if (!bytes) return fileError("io", bytes.error().what, bytes.error().why, bytes.error().remedy, given);
  return Json(QString::fromStdString(*bytes).toStdString());  // a byte that is no UTF-8 becomes a mark
}

Result<Json> ScriptCalls::writeText(const QString& given, const QString& text) const {
  KV_TRY(isPath("lab.writeText", given));
  const QString path = QString::fromStdString(resolved(given.toStdString(), true));
  if (!m_settings.out.isEmpty()) QDir().mkpath(QFileInfo(path).absolutePath());
  const QByteArray bytes = text.toUtf8();
  KV_TRY(saveFile(path, bytes, given.toStdString()));
  return Json{{"path", path.toStdString()}, {"bytes", bytes.size()}};
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
