// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/manifest_file.h"

#include "app/base/bounded_file.h"
#include "core/api/manifest.h"
#include "core/model/files/strict_json.h"

namespace kvlab {

using nlohmann::json;

Result<json> readManifest(const std::string& path) {
  const auto text = readBounded(QString::fromStdString(path), "manifest " + path + " was not read");
  if (!text) return text.error();
  auto manifest = parseJson(text->toStdString(), path, "bad_manifest", {.uniqueKeys = true});
  if (!manifest) return manifest.error();
  if (!manifest->is_object())
    return Error("bad_manifest", "manifest " + path, "it is no JSON object",
                 "write {\"key\": value, ..}; kvlab list manifest shows the keys");
  if (const auto checked = Manifest::fromJson(*manifest); !checked) {
    Error error = checked.error();
    error.what = "manifest " + path + ": " + error.what;
    return error;
  }
  return manifest;
}

}  // namespace kvlab
