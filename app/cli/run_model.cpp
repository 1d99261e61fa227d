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

Exit listModels(bool asJson) {
  const auto models = namedModels(resources());
  if (!models) return refuse(models.error());
  json rows = json::array();
  for (const NamedModel& m : *models)
    rows.push_back({{"name", m.name},
                    {"title", m.title},
                    {"licence", m.licence},
                    {"bytes", m.bytes},
                    {"fetched", m.fetched},
                    {"path", m.path}});
  if (asJson) return std::cout << rows.dump(2) << "\n", Exit::Ok;
  for (const NamedModel& m : *models)
    std::printf("%-14s %-30s %-20s %5lld MiB  %s\n", m.name.c_str(), m.title.c_str(), m.licence.c_str(),
                static_cast<long long>(m.bytes >> 20), m.fetched ? m.path.c_str() : "not fetched");
  return Exit::Ok;
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

Exit getModel(const NamedModel& model, const QString& python) {
  if (model.fetched) return std::cout << model.path << "\n", Exit::Ok;
  int argc = 0;
  const QCoreApplication application(argc, nullptr);
  std::cerr << "kvlab: model: " << model.title << ", licence: " << model.licence << std::endl;
  ModelFetch fetch(model, python);
  ProgressLine line;
  QObject::connect(&fetch, &ModelFetch::progress, &fetch, [&](qint64 done, qint64 total, const QString& what) {
    if (interrupted()) fetch.cancel();
    line.show(done, total, what);
  });
  QObject::connect(&fetch, &ModelFetch::finished, &fetch, [&](const Result<std::string>& path) {
    line.end();
    if (path) std::cout << *path << "\n";
    QCoreApplication::exit(static_cast<int>(path ? Exit::Ok : refuse(path.error())));
  });
  QMetaObject::invokeMethod(&fetch, &ModelFetch::start, Qt::QueuedConnection);
  return static_cast<Exit>(QCoreApplication::exec());
}

}  // namespace

Exit runModel(const CommandLine& line) {
  watchInterrupts();
  if (line.model == "list") return listModels(line.json);
  const auto model = namedModel(line.file, resources());
  if (!model) return refuse(model.error());
  if (line.model == "get")
    return getModel(*model, line.python.empty() ? "python3" : QString::fromStdString(line.python));
  const Status removed = removeModel(*model);
  return removed ? Exit::Ok : refuse(removed.error());
}

}  // namespace kvlab
