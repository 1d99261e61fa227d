// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/train_job.h"

#include <QDir>
#include <QFileInfo>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>

namespace kvlab {

namespace {

constexpr int kStopMs = 5000;

QString workOf(const TrainingChoice& choice) {
  if (!choice.work.isEmpty()) return choice.work;
  const QString model = QFileInfo(QDir::cleanPath(choice.model)).fileName().replace(':', '-');
  return QDir(QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation))
      .filePath(
          QStringLiteral("kvlab/training/%1.%2.%3").arg(model, choice.what, QFileInfo(choice.text).completeBaseName()));
}

/// The process and what it said last. Ends its job.
class Training : public QObject {
 public:
  Training(JobList& jobs, const TrainingChoice& choice) : QObject(&jobs), m_jobs(jobs), m_choice(choice) {
    m_process.setProcessChannelMode(QProcess::MergedChannels);
    connect(&m_process, &QProcess::readyRead, this, [this] { read(); });
    connect(&m_process, &QProcess::finished, this, [this] { end(); });
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
      if (error == QProcess::FailedToStart) end();
    });
  }

  ~Training() override {
    m_process.disconnect(this);
    if (m_process.state() == QProcess::NotRunning) return;
    m_process.terminate();
    if (!m_process.waitForFinished(kStopMs)) m_process.kill();
    m_process.waitForFinished(kStopMs);
  }

  int start(const QString& program) {
    m_job = m_jobs.begin({.name = JobList::tr("Train %1").arg(m_choice.what),
                          .on = m_choice.model,
                          .rank = JobRank::Beside,
                          .cancel = [this] {
                            m_stopped = true;
                            m_process.terminate();
                          }});
    m_process.start(program, trainingArguments(m_choice));
    return m_job;
  }

 private:
  /// A line such as "kvlab: train gates: windows 3/20, 5 s" or "epoch 2/12: loss 0.31" has a place and a length.
  void read() {
    static const QRegularExpression counts("(\\d+)/(\\d+)");
    while (m_process.canReadLine()) {
      const QString line = QString::fromUtf8(m_process.readLine()).trimmed();
      if (line.isEmpty()) continue;
      m_last = line;
      const QRegularExpressionMatch found = counts.match(line);
      m_jobs.report(m_job, QString(line).remove(QStringLiteral("kvlab: train ")), found.captured(1).toLongLong(),
                    found.captured(2).toLongLong());
    }
  }

  void end() {
    if (std::exchange(m_ended, true)) return;
    read();
    m_last += QString::fromUtf8(m_process.readAll()).trimmed();
    deleteLater();
    const bool done = m_process.error() == QProcess::UnknownError && m_process.exitStatus() == QProcess::NormalExit &&
        m_process.exitCode() == 0;
    if (done) return m_jobs.end(m_job, JobState::Done, outcome());
    if (m_stopped)
      return m_jobs.end(m_job, JobState::Stopped, JobList::tr("Stopped by hand; the same training goes on from here"));
    const QString why = m_last.isEmpty() ? JobList::tr("%1 does not start").arg(m_process.program()) : m_last;
    m_jobs.end(m_job, JobState::Failed, QString(why).remove(QStringLiteral("kvlab: error: ")));
  }

  /// The last line of the program names the file that it wrote, or the folder of the recordings.
  QString outcome() {
    if (m_choice.recordOnly) {
      m_jobs.setPlace(m_job, {.folder = workOf(m_choice)});
      return JobList::tr("Recorded; %1").arg(m_last);
    }
    m_jobs.setPlace(m_job, {.folder = QFileInfo(m_last).absolutePath()});
    return JobList::tr("Saved in %1").arg(m_last);
  }

  JobList& m_jobs;
  TrainingChoice m_choice;
  QProcess m_process;
  QString m_last;
  int m_job = 0;
  bool m_stopped = false, m_ended = false;
};

}  // namespace

QStringList trainingArguments(const TrainingChoice& choice) {
  QStringList out{"train",     choice.what, "--model",      choice.model, "--text",
                  choice.text, "--work",    workOf(choice), "--resume"};
  if (!choice.out.isEmpty()) out << "--out" << choice.out;
  if (!choice.python.isEmpty()) out << "--python" << choice.python;
  if (choice.recordOnly) out << "--record-only";
  return out;
}

int beginTraining(JobList& jobs, const QString& program, const TrainingChoice& choice) {
  return (new Training(jobs, choice))->start(program);
}

}  // namespace kvlab
