// SPDX-License-Identifier: GPL-3.0-or-later
// Brings a model of the list to this machine (app/plain/fetch_model.h) on a thread of its own. As a job it belongs to
// the list of jobs, so that it goes on when the window that began it is closed; the end of the list stops it and waits
// until it has cleaned up. GUI thread, but for the signals.
#pragma once
#include <QObject>
#include <atomic>
#include <thread>

#include "core/model/named_models.h"
#include "widgets/base/job_list.h"

namespace kvlab {

class ModelFetch : public QObject {
  Q_OBJECT
 public:
  /// Needs Python 3 with pip.
  ModelFetch(NamedModel model, QString python, QObject* parent = nullptr);
  /// Stops the fetch and waits until it has cleaned up.
  ~ModelFetch() override;
  /// Called once.
  void start();
  /// finished() tells of it.
  void cancel() { m_stop = true; }

 signals:  // from the thread of the fetch
  /// Bytes of the packages.
  void progress(qint64 done, qint64 total, const QString& what);
  /// The model's file. Errors: those of fetchModel().
  void finished(const kvlab::Result<std::string>& path);

 private:
  const NamedModel m_model;
  const QString m_python;
  std::atomic<bool> m_stop{false};
  std::thread m_thread;
};

/// Returns the job's number.
int beginFetch(JobList& jobs, const NamedModel& model, const QString& python);
/// The newest job that fetches this model; null if there is none.
const Job* fetchJob(const JobList& jobs, const QString& model);

}  // namespace kvlab
