// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab model get|list|remove. Exit codes: 0 = done, 1 = stopped or not fetched, 2 = no such model, 3 = refused.
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "app/cli/programs.h"
#include "app/plain/fetch_model.h"
#include "app/plain/resources.h"

namespace kvlab {

using nlohmann::json;

namespace {

json toJson(const NamedModel& m) {
  return {{"name", m.name},   {"title", m.title},     {"licence", m.licence},
          {"bytes", m.bytes}, {"fetched", m.fetched}, {"path", m.path}};
}

Ending listModels(bool print) {
  json rows = json::array();
  const std::vector<NamedModel> models = KV_TRY(namedModels(resourceRoot()));
  for (const NamedModel& m : models) {
    rows.push_back(toJson(m));
    if (print)
      std::printf("%-14s %-30s %-20s %5lld MiB  %s\n", m.name.c_str(), m.title.c_str(), m.licence.c_str(),
                  static_cast<long long>(m.bytes >> 20), m.fetched ? m.path.c_str() : "not fetched");
  }
  return rows;
}

/// A line that is written over on a terminal; one for each tenth elsewhere.
class ProgressLine {
 public:
  void show(std::int64_t done, std::int64_t total, const std::string& what) {
    const auto tenth = total > 0 ? 10 * done / total : 0;
    if (!m_watched && tenth == m_tenth) return;
    m_tenth = tenth;
    std::fprintf(stderr, "%skvlab: model: %s %lld of %lld MiB%s", m_watched ? "\r\033[K" : "", what.c_str(),
                 static_cast<long long>(done >> 20), static_cast<long long>(total >> 20), m_watched ? "" : "\n");
  }
  void end() const {
    if (m_watched && m_tenth >= 0) std::fputc('\n', stderr);
  }

 private:
  bool m_watched = isatty(STDERR_FILENO) == 1;
  std::int64_t m_tenth = -1;
};

/// The path of the model's file.
Result<std::string> fetched(const NamedModel& model, const std::string& python) {
  if (model.fetched) return model.path;
  std::cerr << "kvlab: model: " << model.title << ", licence: " << model.licence << std::endl;
  ProgressLine line;
  const auto show = [&line](std::int64_t done, std::int64_t total, const std::string& what) {
    line.show(done, total, what);
  };
  Result<std::string> path = fetchModel(model, python, {show, interrupted});
  line.end();
  return path;
}

Ending getModel(NamedModel model, const CommandLine& line) {
  model.path = KV_TRY(fetched(model, line.python.empty() ? std::string("python3") : line.python));
  model.fetched = true;
  if (!line.printsJson()) std::cout << model.path << "\n";
  return toJson(model);
}

}  // namespace

Ending runModel(const CommandLine& line) {
  watchInterrupts();
  if (line.model == "list") return listModels(!line.printsJson());
  NamedModel model = KV_TRY(namedModel(line.file, resourceRoot()));
  if (line.model == "get") return getModel(std::move(model), line);
  KV_TRY(removeModel(model));
  model.fetched = false;
  return toJson(model);
}

}  // namespace kvlab
