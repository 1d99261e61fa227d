// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/plain/script_files.h"

#include <algorithm>
#include <filesystem>

#include "app/plain/read_file.h"
#include "core/api/part_file.h"
#include "core/api/texts.h"

namespace kvlab {

using nlohmann::json;

namespace fs = std::filesystem;

namespace {

Error fileError(const std::string& code, const std::string& what, const std::string& why, const std::string& remedy,
                const std::string& path) {
  return {code, what, why, remedy, "path", path};
}

Status isPath(const std::string& call, const std::string& path) {
  const std::string fault = pathFault(path);
  if (fault.empty()) return ok();
  return fileError("bad_argument", call + " was refused", "path " + fault, "give the name of a file", path);
}

/// The path of "resource:NAME"; it must stay inside the folder.
Result<std::string> shipped(const std::string& root, const std::string& name) {
  const std::string path = fs::path(name).lexically_normal().string();
  const auto refused = [&](const std::string& why) {
    return fileError("bad_argument", "resource:" + name + " was not read", why,
                     "name a file below resources, as in resource:demo/story.txt", "resource:" + name);
  };
  if (path.empty() || path.front() == '/' || path.starts_with(".."))
    return refused("it lies outside of the program's resources");
  if (root.empty()) return refused("the program has found no resources");
  return root + "/" + path;
}

void makeFolderOf(const std::string& path) {
  std::error_code failed;  // what then cannot be written says so
  fs::create_directories(fs::absolute(path, failed).parent_path(), failed);
}

}  // namespace

std::string scriptPath(const std::string& out, const std::string& path, bool write) {
  if (out.empty() || fs::path(path).is_absolute()) return path;
  const std::string inside = out + "/" + path;
  std::error_code failed;
  return write || fs::exists(inside, failed) ? inside : path;
}

void resolveScriptPaths(const std::vector<VerbInfo>& verbs, const std::string& out, const std::string& verb,
                        json& args) {
  const auto info = std::ranges::find(verbs, verb, &VerbInfo::name);
  if (info == verbs.end() || !args.is_object()) return;
  std::string called;
  for (const ArgInfo& arg : info->args) {
    const auto found = args.find(arg.name);
    if (found == args.end()) continue;
    if (arg.type == ArgType::Verb && found->is_string()) called = found->get<std::string>();
    if (arg.type == ArgType::Arguments && called != verb) resolveScriptPaths(verbs, out, called, *found);
    if (arg.type != ArgType::Path || !found->is_string() || !pathFault(found->get<std::string>()).empty()) continue;
    const std::string path = scriptPath(out, found->get<std::string>(), arg.written);
    if (arg.written && !out.empty()) makeFolderOf(path);
    *found = path;
  }
}

Result<json> readScriptText(const std::string& out, const std::string& resources, const std::string& given) {
  KV_TRY(isPath("lab.readText", given));
  constexpr std::string_view kScheme = "resource:";
  const std::string path = given.starts_with(kScheme) ? KV_TRY(shipped(resources, given.substr(kScheme.size())))
                                                      : scriptPath(out, given, false);
  const Result<std::string> bytes = readBounded(path, given + " was not read");
  if (!bytes) return fileError("io", bytes.error().what, bytes.error().why, bytes.error().remedy, given);
  return json(*bytes);
}

Result<json> writeScriptText(const std::string& out, const std::string& given, const std::string& text) {
  KV_TRY(isPath("lab.writeText", given));
  const std::string path = scriptPath(out, given, true);
  if (!out.empty()) makeFolderOf(path);
  if (const Status written = writeWhole(path, text); !written)
    return fileError("io", given + " was not written", written.error().why, "choose a folder that can be written to",
                     path);
  return json{{"path", path}, {"bytes", text.size()}};
}

json scriptVerbs(const Schema& schema) {
  json list = json::array();
  for (const VerbInfo& verb : schema.verbs) {
    json args = json::array();
    for (const ArgInfo& arg : verb.args) args.push_back(arg.name);
    list.push_back({{"name", verb.name}, {"args", args}, {"lanes", name(verb.lanes)}, {"ofLanes", verb.ofLanes()}});
  }
  return list;
}

json scriptTables(const Schema& schema) {
  json list = json::array();
  for (const TableInfo& table : schema.tables) {
    list.push_back({{"name", table.name}, {"args", json::array()}, {"columns", json::array()}});
    for (const ArgInfo& arg : table.args) list.back()["args"].push_back(arg.name);
    for (const ColumnInfo& column : table.columns) list.back()["columns"].push_back(column.name);
  }
  return list;
}

}  // namespace kvlab
