// SPDX-License-Identifier: GPL-3.0-or-later
// Brings a model of the list to this machine: runs resources/models/fetch.py, which loads packages with pip, and passes
// on its output. A fetch that ends early leaves nothing behind. One thread with an event loop. As a job it belongs to
// the list of jobs, so that it goes on when the window that began it is closed; the end of the list stops it and waits
// until it has cleaned up. Jobs: GUI thread.
#pragma once
#include <QProcess>

#include "core/model/named_models.h"
#include "widgets/base/job_list.h"

namespace kvlab {

class ModelFetch : public QObject {
  Q_OBJECT
 public:
  /// Needs Python 3 with pip.
  ModelFetch(const NamedModel& model, const QString& python, QObject* parent = nullptr);
  /// Stops the fetch and waits until it has cleaned up.
  ~ModelFetch() override;
  void start();
  /// finished() tells of it.
  void cancel();

 signals:
  /// Bytes of the packages.
  void progress(qint64 done, qint64 total, const QString& what);
  /// The model's file. Errors: busy, cancelled, fetch_failed, io, no_python.
  void finished(const kvlab::Result<std::string>& path);

 private:
  void readLines();
  void ended();
  Error failed(const std::string& code, const std::string& why, const std::string& remedy) const;

  NamedModel m_model;
  QProcess m_process;
  Result<std::string> m_answer;
  bool m_told = false;
};

/// Deletes the file of a fetched model, and its folder unless something else lies there. Errors: io, not_fetched.
Status removeModel(const NamedModel& model);

/// Returns the job's number.
int beginFetch(JobList& jobs, const NamedModel& model, const QString& python);
/// The newest job that fetches this model; null if there is none.
const Job* fetchJob(const JobList& jobs, const QString& model);

}  // namespace kvlab
