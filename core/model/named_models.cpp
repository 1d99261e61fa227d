// SPDX-License-Identifier: Apache-2.0
#include "core/model/named_models.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/api/texts.h"
#include "core/model/files/json_fields.h"
#include "core/model/files/strict_json.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr JsonLimits kListLimits{.depth = 8, .bytes = std::size_t{1} << 20, .uniqueKeys = true};
constexpr const char* kBadList = "bad_models";
constexpr std::int64_t kMostBytes = std::int64_t{1} << 42;

/// A folder's or a file's name that leads nowhere else.
bool isPlainName(const std::string& text) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && text.size() <= 128 && text[0] != '.' && text[0] != '-' &&
      std::all_of(text.begin(), text.end(), plain);
}

Status isPlain(const JsonFields& in, const char* key, const std::string& text) {
  if (isPlainName(text)) return ok();
  return in.bad(key, "is not a plain name", "use letters, digits, -, _ and .");
}

Status readPackages(const JsonFields& in, NamedModel& model) {
  const json list = in.json().value("packages", json());
  if (!list.is_array() || list.empty()) return in.bad("packages", "is not a list of packages");
  for (const json& one : list) {
    if (!one.is_object()) return in.bad("packages", "has something that is not an object");
    const JsonFields package = in.inside(one);
    for (const char* key : {"name", "version"}) {
      const std::string text = KV_TRY(package.text(key));
      KV_TRY(isPlain(package, key, text));
    }
    KV_TRY(package.text("member"));
    std::int64_t bytes = 0;
    KV_TRY(package.number("bytes", bytes, 1, kMostBytes));
    model.loadBytes += bytes;
  }
  return ok();
}

Result<NamedModel> readEntry(const std::string& name, const JsonFields& in) {
  NamedModel model;
  model.name = name;
  model.list = in.file();
  model.title = KV_TRY(in.text("title"));
  model.licence = KV_TRY(in.text("licence"));
  model.file = KV_TRY(in.text("file"));
  KV_TRY(isPlain(in, "file", model.file));
  KV_TRY(in.number("bytes", model.bytes, 1, kMostBytes));
  const std::string digest = KV_TRY(in.text("sha256"));
  if (digest.size() != 64) return in.bad("sha256", "does not have 64 digits");
  KV_TRY(readPackages(in, model));
  model.path = modelsFolder() + "/" + name + "/" + model.file;
  std::error_code missing;
  model.fetched = static_cast<std::int64_t>(std::filesystem::file_size(model.path, missing)) == model.bytes && !missing;
  return model;
}

Status readList(const std::string& file, std::vector<NamedModel>& out) {
  const json list = KV_TRY(readJsonFile(file, kBadList, kListLimits));
  const Error bad(kBadList, "cannot use the list of models " + file, "it is not an object of models by name",
                  "correct it; resources/models/models.json of the program is an example");
  if (!list.is_object()) return bad;
  for (const auto& [name, entry] : list.items()) {
    if (!entry.is_object() || !isPlainName(name) || name == "demo") return bad;
    const auto isIt = [&wanted = name](const NamedModel& one) { return one.name == wanted; };
    const bool hidden = std::any_of(out.begin(), out.end(), isIt);
    if (!hidden) out.push_back(KV_TRY(readEntry(name, JsonFields(entry, file, kBadList))));
  }
  return ok();
}

}  // namespace

std::string modelsFolder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data && data[0] == '/') return std::string(data) + "/kvlab/models";
  const char* home = std::getenv("HOME");
  return std::string(home ? home : "") + "/.local/share/kvlab/models";
}

Result<std::vector<NamedModel>> namedModels(const std::string& resources) {
  std::vector<NamedModel> out;
  std::error_code ignored;
  if (const std::string own = modelsFolder() + "/models.json"; std::filesystem::exists(own, ignored))
    KV_TRY(readList(own, out));
  KV_TRY(readList(resources + "/models/models.json", out));
  return out;
}

Result<NamedModel> namedModel(const std::string& name, const std::string& resources) {
  const auto models = KV_TRY(namedModels(resources));
  const auto found = std::find_if(models.begin(), models.end(), [&](const NamedModel& m) { return m.name == name; });
  if (found != models.end()) return *found;
  return Error("unknown_model", "no model is called " + name,
               "the lists do not name it" + nearestNote(name, namesOf(models)), "kvlab model list says what there is",
               "name", name);
}

Result<std::string> modelPath(const std::string& spec, const std::string& resources) {
  if (spec == "demo") return resources + "/demo";
  if (!isPlainName(spec)) return spec;
  for (const NamedModel& model : KV_TRY(namedModels(resources))) {
    if (model.name != spec) continue;
    if (model.fetched) return model.path;
    return Error("bad_model", "cannot open model " + spec, "it is not on this machine yet",
                 "fetch it with `kvlab model get " + spec + "` (" + std::to_string(model.loadBytes >> 20) + " MiB)",
                 "model", spec);
  }
  return spec;
}

std::string trainedFile(const std::string& what, const std::string& modelSpec, const std::string& resources) {
  namespace fs = std::filesystem;
  const auto found = modelPath(modelSpec, resources);
  const fs::path path = found && modelSpec != "demo" ? fs::path(*found) : fs::path();
  std::error_code ignored;
  const fs::path folder = fs::is_regular_file(path, ignored) ? path.parent_path() : path;
  if (fs::is_directory(folder, ignored)) return (folder / ("kvlab_" + what + ".safetensors")).string();
  return resources + "/" + what + "/" + modelSpec + ".safetensors";
}

}  // namespace kvlab
