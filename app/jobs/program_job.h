// SPDX-License-Identifier: GPL-3.0-or-later
// Subcommands of the program as jobs: the self-tests of a model (`kvlab check`) and trainings (`kvlab train`). Each is
// a process of its own, so that the window works on and the work may take hours. It belongs to the list of jobs; the
// end of the list stops it. GUI thread.
#pragma once
#include <QProcess>
#include <QStringList>
#include <functional>
#include <optional>

#include "app/base/outcome.h"

namespace kvlab {

class ProgramJob : public QObject {
  Q_OBJECT
 public:
  struct Order {
    QString name, on;  // name and subject of the job
    QString prefix;    // prefix of progress lines: not shown
    QString stopped;   // the outcome if it was stopped by hand
    /// The end of a job whose process ran to its end. last: the last line that the process wrote, which names the file
    /// of a training, or the folder of its recordings.
    std::function<JobOutcome(int number, int exitCode, const QString& last)> end;
  };
  ProgramJob(JobList& jobs, Order order);
  ~ProgramJob() override;
  /// Starts `program` with these arguments. Returns the job's number.
  int start(const QString& program, const QStringList& arguments);
  void stop();

 signals:
  /// The program wrote a line.
  void said(const QString& line);
  /// The job has ended.
  void ended();

 private:
  void read();
  void end();
  JobOutcome ending() const;

  JobList& m_jobs;
  Order m_order;
  QProcess m_process;
  QString m_last;
  int m_job = 0;
  bool m_stopped = false, m_ended = false;
};

/// A line of `kvlab check` about a test that is over.
struct CheckedTest {
  QString id, outcome, figure, seconds, says;  // outcome: passed, FAILED or skipped
};
/// None: the line says something else.
std::optional<CheckedTest> checkedTest(const QString& line);

/// The self-tests of a model, to be started.
ProgramJob* checkJob(JobList& jobs, const QString& model);

struct TrainingChoice {
  QString what;             // gates, gists or lens
  QString model;            // as a manifest names it
  QString text;             // the file to train from
  QString out = {};         // empty = beside the model
  QString work = {};        // folder of recordings and checkpoints; empty = one in the data folder
  QString python = {};      // empty = python3
  bool recordOnly = false;  // without PyTorch; a later training goes on
};

/// The arguments of the program for a training. Without a folder of its own the work lies in one for each model, kind
/// and text, so that a training that was stopped goes on.
QStringList trainingArguments(const TrainingChoice& choice);
/// Starts `program` with these arguments. Returns the job's number.
int beginTraining(JobList& jobs, const QString& program, const TrainingChoice& choice);

}  // namespace kvlab
