// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab model get|list|remove. Exit codes: 0 = done, 1 = stopped or not fetched, 2 = no such model, 3 = refused.
#include <unistd.h>

#include <QCoreApplication>
#include <cstdio>
#include <iostream>

#include "app/base/resources.h"
#include "app/cli/programs.h"
#include "app/jobs/model_fetch.h"

namespace kvlab {

using nlohmann::json;

namespace {

std::string resources() { return resourceRoot().toStdString(); }

json toJson(const NamedModel& m) {
  return {{"name", m.name},   {"title", m.title},     {"licence", m.licence},
          {"bytes", m.bytes}, {"fetched", m.fetched}, {"path", m.path}};
}

Ending listModels(bool print) {
  json rows = json::array();
  const std::vector<NamedModel> models = KV_TRY(namedModels(resources()));
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
  void show(qint64 done, qint64 total, const QString& what) {
    const auto tenth = total > 0 ? 10 * done / total : 0;
    if (!m_watched && tenth == m_tenth) return;
    m_tenth = tenth;
    std::fprintf(stderr, "%skvlab: model: %s %lld of %lld MiB%s", m_watched ? "\r\033[K" : "", qPrintable(what),
                 static_cast<long long>(done >> 20), static_cast<long long>(total >> 20), m_watched ? "" : "\n");
  }
  void end() const {
    if (m_watched && m_tenth >= 0) std::fputc('\n', stderr);
  }

 private:
  bool m_watched = isatty(STDERR_FILENO) == 1;
  qint64 m_tenth = -1;
};

/// The path of the model's file.
Result<std::string> fetched(const NamedModel& model, const QString& python) {
  if (model.fetched) return model.path;
  int argc = 0;
  const QCoreApplication application(argc, nullptr);
  std::cerr << "kvlab: model: " << model.title << ", licence: " << model.licence << std::endl;
  ModelFetch fetch(model, python);
  ProgressLine line;
  Result<std::string> answer = std::string();
  QObject::connect(&fetch, &ModelFetch::progress, &fetch, [&](qint64 done, qint64 total, const QString& what) {
    if (interrupted()) fetch.cancel();
    line.show(done, total, what);
  });
  QObject::connect(&fetch, &ModelFetch::finished, &fetch, [&](const Result<std::string>& path) {
    line.end();
    answer = path;
    QCoreApplication::quit();
  });
  QMetaObject::invokeMethod(&fetch, &ModelFetch::start, Qt::QueuedConnection);
  QCoreApplication::exec();
  return answer;
}

Ending getModel(NamedModel model, const CommandLine& line) {
  model.path = KV_TRY(fetched(model, line.python.empty() ? "python3" : QString::fromStdString(line.python)));
  model.fetched = true;
  if (!line.printsJson()) std::cout << model.path << "\n";
  return toJson(model);
}

}  // namespace

Ending runModel(const CommandLine& line) {
  watchInterrupts();
  if (line.model == "list") return listModels(!line.printsJson());
  NamedModel model = KV_TRY(namedModel(line.file, resources()));
  if (line.model == "get") return getModel(std::move(model), line);
  KV_TRY(removeModel(model));
  model.fetched = false;
  return toJson(model);
}

}  // namespace kvlab
