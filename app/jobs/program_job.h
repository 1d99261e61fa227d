// SPDX-License-Identifier: GPL-3.0-or-later
// A subcommand of the program as a job: a process of its own, so that the window works on and the work may take hours.
// It belongs to the list of jobs; the end of the list stops it. GUI thread.
#pragma once
#include <QProcess>
#include <QStringList>

#include "widgets/base/job_list.h"

namespace kvlab {

class ProgramJob : public QObject {
  Q_OBJECT
 public:
  struct Words {
    QString name, on;  // name and subject of the job
    QString prefix;    // prefix of progress lines: not shown
    QString stopped;   // the outcome if it was stopped by hand
  };
  ProgramJob(JobList& jobs, Words words);
  ~ProgramJob() override;
  /// Starts `program` with these arguments. Returns the job's number.
  int start(const QString& program, const QStringList& arguments);
  void stop();

 signals:
  /// The program wrote a line.
  void said(const QString& line);
  /// The job has ended.
  void ended();

 protected:
  struct End {
    JobState state;
    QString how;
  };
  /// The end of a job whose process ran to its end. last: the last line that the process wrote.
  virtual End endOf(int exitCode, const QString& last) = 0;
  JobList& jobs() { return m_jobs; }
  int number() const { return m_job; }

 private:
  void read();
  void end();
  End ending();

  JobList& m_jobs;
  Words m_words;
  QProcess m_process;
  QString m_last;
  int m_job = 0;
  bool m_stopped = false, m_ended = false;
};

}  // namespace kvlab
