// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/model_fetch.h"

#include <QFileInfo>
#include <algorithm>

#include "app/base/outcome.h"
#include "app/plain/fetch_model.h"
#include "core/api/guarded.h"

namespace kvlab {

namespace {

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

ModelFetch::ModelFetch(NamedModel model, QString python, QObject* parent)
    : QObject(parent), m_model(std::move(model)), m_python(std::move(python)) {}

ModelFetch::~ModelFetch() {
  m_stop = true;
  if (m_thread.joinable()) m_thread.join();
}

void ModelFetch::start() {
  constexpr const char* kStopped = "the fetch was stopped";
  const auto fetch = [this] {
    const FetchWatch watch{[this](std::int64_t done, std::int64_t total, const std::string& what) {
                             emit progress(done, total, QString::fromStdString(what));
                           },
                           [this] { return m_stop.load(); }};
    emit finished(guarded(kStopped, [&] { return fetchModel(m_model, m_python.toStdString(), watch); }));
  };
  const Status started = guarded(kStopped, [&] {
    m_thread = std::thread(fetch);
    return ok();
  });
  if (!started)
    QMetaObject::invokeMethod(
        this, [this, error = started.error()] { emit finished(error); }, Qt::QueuedConnection);
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
