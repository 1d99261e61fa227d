// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/session_request.h"

#include <QFile>
#include <QStringList>

#include "app/base/manifest_path.h"
#include "app/plain/resources.h"
#include "core/api/manifest_values.h"
#include "core/api/read_json.h"

namespace kvlab {

using nlohmann::json;

namespace {

/// A model that is a file or a folder by its last part.
QString modelName(const QString& model) {
  if (model.isEmpty()) return QStringLiteral("demo");
  return model.section('/', -1, -1, QString::SectionSkipEmpty);
}

json textAt(const json& request, const char* key) { return member(member(request, "start"), key); }

Error refused(const std::string& path, const std::string& why) {
  return Error("io", "the session was not opened", "the file of its starting text " + why, "choose another text file",
               "start", path);
}

Result<QString> contentOf(const std::string& path) {
  QFile file(QString::fromStdString(resourcePath(path)));
  if (!file.open(QIODevice::ReadOnly)) return refused(path, "cannot be read: " + file.errorString().toStdString());
  const QByteArray bytes = file.readAll();
  const QString text = QString::fromUtf8(bytes);
  if (text.toUtf8() != bytes) return refused(path, "is not UTF-8");
  return text.trimmed();
}

}  // namespace

QString sessionName(const json& request) {
  if (member(request, "name").is_string()) return manifestText(member(request, "name"));
  if (request.contains("recovery")) return QStringLiteral("the last session");
  if (request.contains("capture")) return manifestText(member(request, "capture"));
  if (request.contains("sweep"))
    return "cell " + manifestText(member(request, "cell")) + " of " + manifestText(member(request, "sweep"));
  const json& manifest = member(request, "manifest");
  const auto text = [&](const char* key) {
    const json value = manifestValue(manifest, key);
    return value.is_structured() ? QString() : manifestText(value);
  };
  QStringList parts{modelName(text("model"))};
  const auto add = [&](const char* word, const QString& value) {
    if (!value.isEmpty()) parts << (*word ? QString(word) + " " + value : value);
  };
  add("", text("layout"));
  add("", text("policy"));
  add("K", text("kv.k"));
  add("V", text("kv.v"));
  add("window", text("ring.window"));
  if (manifest.is_object() && manifest.contains("wlod")) parts << QStringLiteral("wLOD");
  add("budget", text("wlod.budget"));
  add("after edits", text("after_edit"));
  add("capacity", text("capacity"));
  return parts.join(QStringLiteral(" · "));
}

json storyStart() { return {{"file", "resource:demo/story.txt"}}; }

Result<QString> startingText(const json& request) {
  if (!request.contains("start")) return QString();
  const json text = textAt(request, "text"), file = textAt(request, "file");
  if (file.is_string()) return contentOf(file);
  if (text.is_string()) return QString::fromStdString(text);
  return Error("bad_argument", "the session was not opened", "start has neither a text nor a file",
               "write {\"text\": \"…\"} or {\"file\": \"PATH\"}", "start", member(request, "start"));
}

QString startingLine(const json& request) {
  const json file = textAt(request, "file");
  const QString text = QString::fromStdString((file.is_string() ? file : textAt(request, "text")).dump());
  return file.is_string() ? QString("s.prompt(lab.readText(%1).trim())").arg(text) : QString("s.prompt(%1)").arg(text);
}

}  // namespace kvlab
