// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/session_name.h"

#include <QStringList>

namespace kvlab {
namespace {
using nlohmann::json;

/// The value at a path of keys, as a person writes it; empty if it is not there or is no plain value.
QString plain(const json& manifest, std::initializer_list<const char*> path) {
  const json* at = &manifest;
  for (const char* key : path) {
    if (!at->is_object() || !at->contains(key)) return {};
    at = &at->at(key);
  }
  if (at->is_string()) return QString::fromStdString(at->get<std::string>());
  return at->is_number() || at->is_boolean() ? QString::fromStdString(at->dump()) : QString();
}

/// A model that is a file or a folder by its last part.
QString modelName(const QString& model) {
  if (model.isEmpty()) return QStringLiteral("demo");
  return model.section('/', -1, -1, QString::SectionSkipEmpty);
}
}  // namespace

QString sessionName(const json& request) {
  if (request.contains("capture")) return plain(request, {"capture"});
  const json manifest = request.value("manifest", json::object());
  QStringList parts{modelName(plain(manifest, {"model"}))};
  const auto add = [&](const char* word, const QString& value) {
    if (!value.isEmpty()) parts << (*word ? QString(word) + " " + value : value);
  };
  add("", plain(manifest, {"layout"}));
  add("", plain(manifest, {"policy"}));
  add("", plain(manifest, {"policy", "name"}));
  add("K", plain(manifest, {"kv", "k"}));
  add("V", plain(manifest, {"kv", "v"}));
  add("window", plain(manifest, {"ring", "window"}));
  if (manifest.is_object() && manifest.contains("wlod")) parts << QStringLiteral("wLOD");
  add("budget", plain(manifest, {"wlod", "budget"}));
  add("after edits", plain(manifest, {"after_edit"}));
  add("capacity", plain(manifest, {"capacity"}));
  return parts.join(QStringLiteral(" · "));
}

}  // namespace kvlab
