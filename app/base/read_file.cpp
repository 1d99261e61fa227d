// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/read_file.h"

#include <QFile>
#include <QFileInfo>

#include "core/api/manifest.h"
#include "core/api/texts.h"
#include "core/model/files/strict_json.h"

namespace kvlab {

using nlohmann::json;

Result<QByteArray> readBounded(const QString& path, const std::string& what) {
  constexpr qint64 kMost = qint64{64} << 20, kPart = qint64{1} << 20;
  const auto refused = [&](const std::string& why) {
    return Error("unreadable_file", what, why, "give the path of a text file", "path", path.toStdString());
  };
  if (const std::string fault = pathFault(path.toStdString()); !fault.empty()) return refused("the path " + fault);
  if (QFileInfo(path).isDir()) return refused("the path is a folder");
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return refused(file.errorString().toStdString());
  QByteArray bytes;
  for (QByteArray part; !(part = file.read(kPart)).isEmpty() && bytes.size() <= kMost;) bytes += part;
  if (file.error() != QFileDevice::NoError) return refused(file.errorString().toStdString());
  if (bytes.size() > kMost) return refused("the file is larger than 64 MiB");
  return bytes;
}

Result<json> readManifest(const std::string& path) {
  const QByteArray text = KV_TRY(readBounded(QString::fromStdString(path), "manifest " + path + " was not read"));
  json manifest = KV_TRY(parseJson(text.toStdString(), path, "bad_manifest", {.uniqueKeys = true}));
  if (!manifest.is_object())
    return Error("bad_manifest", "manifest " + path, "it is no JSON object",
                 "write {\"key\": value, ..}; kvlab list manifest shows the keys");
  if (const auto checked = Manifest::fromJson(manifest); !checked) {
    Error error = checked.error();
    error.what = "manifest " + path + ": " + error.what;
    return error;
  }
  return manifest;
}

}  // namespace kvlab
