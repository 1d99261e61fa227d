// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/model_fetch.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <algorithm>

#include "app/base/outcome.h"
#include "app/base/resources.h"
#include "core/api/read_json.h"

namespace kvlab {

namespace {

constexpr int kKillAfterMs = 5000;

QString text(const std::string& from) { return QString::fromStdString(from); }

QString fetchName() { return JobList::tr("Fetch Model"); }

void endFetch(JobList& jobs, int number, const Result<std::string>& path) {
  if (!path) {
    const JobOutcome how = endOf(path.error());
    return jobs.end(number, how.state, how.how);
  }
  const QFileInfo file(QString::fromStdString(*path));
  jobs.setPlace(number, {.folder = file.absolutePath()});
  jobs.end(number, JobState::Done, JobList::tr("Saved in %1").arg(file.absoluteFilePath()));
}

}  // namespace

ModelFetch::ModelFetch(const NamedModel& model, const QString& python, QObject* parent)
    : QObject(parent), m_model(model), m_answer(failed("fetch_failed", "the recipe gave no answer", "try again")) {
  m_process.setProgram(python);
  m_process.setArguments({resourceRoot() + "/models/fetch.py", text(m_model.name), "--list", text(m_model.list),
                          "--into", text(modelsFolder())});
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert("PYTHONDONTWRITEBYTECODE", "1");
  m_process.setProcessEnvironment(environment);
  m_process.setStandardErrorFile(QProcess::nullDevice());
  connect(&m_process, &QProcess::readyReadStandardOutput, this, &ModelFetch::readLines);
  connect(&m_process, &QProcess::finished, this, &ModelFetch::ended);
  connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) ended();
  });
}

ModelFetch::~ModelFetch() {
  m_process.disconnect(this);
  if (m_process.state() == QProcess::NotRunning) return;
  m_process.terminate();
  if (!m_process.waitForFinished(kKillAfterMs)) m_process.kill();
  m_process.waitForFinished(kKillAfterMs);
}

Error ModelFetch::failed(const std::string& code, const std::string& why, const std::string& remedy) const {
  return {code, "model " + m_model.name + " was not fetched", why, remedy, "name", m_model.name};
}

void ModelFetch::start() { m_process.start(); }

void ModelFetch::cancel() { m_process.terminate(); }

void ModelFetch::readLines() {
  while (m_process.canReadLine()) {
    const auto line = nlohmann::json::parse(m_process.readLine().toStdString(), nullptr, false);
    if (!line.is_object()) continue;
    const auto word = [&](const char* key) { return memberOr(line, key, std::string()); };
    if (line.contains("path")) m_answer = memberOr(line, "path", std::string());
    else if (line.contains("code")) m_answer = failed(word("code"), word("why"), word("remedy"));
    else emit progress(memberOr(line, "done", qint64{0}), memberOr(line, "total", qint64{0}), text(word("what")));
  }
}

void ModelFetch::ended() {
  if (std::exchange(m_told, true)) return;
  if (m_process.error() == QProcess::FailedToStart)
    m_answer = failed("no_python", m_process.program().toStdString() + " does not start",
                      "install Python 3 with pip, or name an interpreter with --python");
  else readLines();
  emit finished(m_answer);
}

Status removeModel(const NamedModel& model) {
  const QFileInfo file(text(model.path));
  if (!file.exists())
    return Error("not_fetched", "model " + model.name + " was not removed", "it is not on this machine",
                 "kvlab model list says which are", "name", model.name);
  QFile gone(file.filePath());
  if (!gone.remove())
    return Error("io", "model " + model.name + " was not removed", gone.errorString().toStdString(),
                 "check the permissions of " + file.path().toStdString(), "name", model.name);
  QDir().rmdir(file.path());
  return ok();
}

int beginFetch(JobList& jobs, const NamedModel& model, const QString& python) {
  auto* fetch = new ModelFetch(model, python, &jobs);
  const int number = jobs.begin(
      {.name = fetchName(), .on = QString::fromStdString(model.name), .rank = JobRank::Beside, .cancel = [fetch] {
         fetch->cancel();
       }});
  QObject::connect(
      fetch, &ModelFetch::progress, &jobs,
      [&jobs, number](qint64 done, qint64 total, const QString& what) { jobs.report(number, what, done, total); });
  QObject::connect(fetch, &ModelFetch::finished, &jobs, [&jobs, number, fetch](const Result<std::string>& path) {
    fetch->deleteLater();
    endFetch(jobs, number, path);
  });
  fetch->start();
  return number;
}

const Job* fetchJob(const JobList& jobs, const QString& model) {
  const auto& all = jobs.jobs();
  const auto found = std::find_if(all.rbegin(), all.rend(),
                                  [&](const Job& job) { return job.name == fetchName() && job.on == model; });
  return found == all.rend() ? nullptr : &*found;
}

}  // namespace kvlab
