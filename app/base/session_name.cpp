// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/session_name.h"

#include <QStringList>

#include "app/base/manifest_path.h"
#include "core/api/manifest_values.h"
#include "core/api/read_json.h"

namespace kvlab {
namespace {
using nlohmann::json;

/// A model that is a file or a folder by its last part.
QString modelName(const QString& model) {
  if (model.isEmpty()) return QStringLiteral("demo");
  return model.section('/', -1, -1, QString::SectionSkipEmpty);
}
}  // namespace

QString sessionName(const json& request) {
  if (member(request, "name").is_string()) return manifestText(member(request, "name"));
  if (request.contains("recovery")) return QStringLiteral("the last session");
  if (request.contains("capture")) return manifestText(member(request, "capture"));
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

}  // namespace kvlab
