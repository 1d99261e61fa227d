// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/plain/script_lines.h"

#include <algorithm>
#include <filesystem>

#include "core/api/read_json.h"
#include "core/clinic/clinic_run.h"

namespace kvlab {

using nlohmann::json;

namespace {

/// Files keep their place when the script runs in another folder.
json absolute(const json& path) {
  const std::filesystem::path text(jsonOr(path, std::string()));
  std::error_code unknown;
  return std::filesystem::exists(text, unknown) ? json(std::filesystem::absolute(text).lexically_normal().string())
                                                : path;
}

std::string inCommas(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& one : words) out += (out.empty() ? "" : ", ") + one;
  return out;
}

/// Messages come as JSON texts, which are objects in a script.
std::string argText(const ArgInfo& arg, const json& value) {
  const auto text = [](const json& one) { return one.is_string(); };
  if (arg.name != "messages" || !value.is_array() || !std::all_of(value.begin(), value.end(), text))
    return scriptText(value);
  std::vector<std::string> all;
  for (const json& one : value) all.push_back(one.get<std::string>());
  return "[" + inCommas(all) + "]";
}

}  // namespace

const VerbInfo* infoOf(const std::vector<VerbInfo>& verbs, const std::string& verb) {
  const auto found = std::find_if(verbs.begin(), verbs.end(), [&](const VerbInfo& one) { return one.name == verb; });
  return found == verbs.end() ? nullptr : &*found;
}

std::string scriptText(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string openingLine(const json& request) {
  for (const char* file : {"capture", "recovery"})
    if (request.contains(file)) return "s = lab.openCapture(" + scriptText(absolute(member(request, file))) + ")";
  if (request.contains("sweep"))
    return "s = lab.openCell(" +
        inCommas({scriptText(absolute(member(request, "sweep"))), scriptText(member(request, "cell")),
                  scriptText(member(request, "question"))}) +
        ")";
  json manifest = member(request, "manifest").is_object() ? member(request, "manifest") : json::object();
  if (manifest.contains("model")) manifest["model"] = absolute(manifest["model"]);
  return "s = lab.open(" + scriptText(manifest) + ")";
}

std::string callLine(const std::vector<VerbInfo>& verbs, const std::string& verb, const json& args) {
  const VerbInfo* info = infoOf(verbs, verb);
  if (!info || info->ofLanes()) return "s.verb(\"" + verb + "\", " + scriptText(args) + ")";
  const auto says = [&args](const ArgInfo& arg) {
    return args.contains(arg.name) && (arg.otherwise.is_null() || member(args, arg.name) != arg.otherwise);
  };
  std::vector<std::string> words, named;
  std::size_t given = 0;
  for (const ArgInfo& arg : info->args) {
    if (!says(arg) || member(args, arg.name).is_object() || arg.type == ArgType::Key || arg.type == ArgType::Flag)
      break;
    words.push_back(argText(arg, member(args, arg.name)));
    ++given;
  }
  for (std::size_t i = given; i < info->args.size(); ++i)
    if (const ArgInfo& arg = info->args[i]; says(arg))
      named.push_back(arg.name + ": " + argText(arg, member(args, arg.name)));
  if (!named.empty()) words.push_back("{" + inCommas(named) + "}");
  return "s." + verb + "(" + inCommas(words) + ")";
}

std::vector<std::string> clinicScript(const ClinicCase& one, const std::vector<VerbInfo>& verbs,
                                      std::optional<std::int64_t> blind, const std::string& folder) {
  json manifest = clinicManifest(one, "full");
  if (!manifest.contains("model")) manifest["model"] = "demo";
  std::vector<std::string> out{"var " + openingLine({{"manifest", manifest}}) + ";"};
  const auto call = [&](const ClinicStep& step) {
    out.push_back(callLine(verbs, step.verb, stepArgs(step, folder)) + ";");
  };
  for (const ClinicStep& step : one.before) call(step);
  out.push_back(blind ? "s.bug(\"\", {blind: " + std::to_string(*blind) + "});" : "s.bug(\"" + one.bug + "\");");
  for (const ClinicStep& step : one.after) call(step);
  out.emplace_back("for (const one of s.invariants()) if (!one.ok) log(one.id + \": \" + one.detail);");
  return out;
}

}  // namespace kvlab
