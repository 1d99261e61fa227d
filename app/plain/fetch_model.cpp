// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/plain/fetch_model.h"

#include <filesystem>

#include "app/plain/child_process.h"
#include "app/plain/resources.h"
#include "core/api/read_json.h"

namespace kvlab {

namespace {

Error notFetched(const NamedModel& model, const std::string& code, const std::string& why, const std::string& remedy) {
  return {code, "model " + model.name + " was not fetched", why, remedy, "name", model.name};
}

}  // namespace

Result<std::string> fetchModel(const NamedModel& model, const std::string& python, const FetchWatch& watch) {
  Result<std::string> answer = notFetched(model, "fetch_failed", "the recipe gave no answer", "try again");
  const auto said = [&](const std::string& text) {
    const auto line = nlohmann::json::parse(text, nullptr, false);
    if (!line.is_object()) return;
    const auto word = [&line](const char* key) { return memberOr(line, key, std::string()); };
    if (line.contains("path")) answer = word("path");
    else if (line.contains("code")) answer = notFetched(model, word("code"), word("why"), word("remedy"));
    else
      watch.progress(memberOr(line, "done", std::int64_t{0}), memberOr(line, "total", std::int64_t{0}), word("what"));
  };
  const ChildEnd end = runChild(
      {.program = python,
       .arguments = {resourceRoot() + "/models/fetch.py", model.name, "--list", model.list, "--into", modelsFolder()},
       .said = said,
       .quiet = true,
       .stopped = watch.stopped});
  if (end.started) return answer;
  return notFetched(model, "no_python", python + " does not start",
                    "install Python 3 with pip, or name an interpreter with --python");
}

Status removeModel(const NamedModel& model) {
  namespace fs = std::filesystem;
  const fs::path file(model.path);
  std::error_code failure;
  if (!fs::exists(file, failure))
    return Error("not_fetched", "model " + model.name + " was not removed", "it is not on this machine",
                 "kvlab model list says which are", "name", model.name);
  if (!fs::remove(file, failure))
    return Error("io", "model " + model.name + " was not removed", failure.message(),
                 "check the permissions of " + file.parent_path().string(), "name", model.name);
  fs::remove(file.parent_path(), failure);
  return ok();
}

}  // namespace kvlab
