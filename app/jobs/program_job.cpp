// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/program_job.h"

#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStandardPaths>
#include <utility>

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

}  // namespace

ProgramJob::ProgramJob(JobList& jobs, Order order) : QObject(&jobs), m_jobs(jobs), m_order(std::move(order)) {
  m_process.setProcessChannelMode(QProcess::MergedChannels);
  connect(&m_process, &QProcess::readyRead, this, &ProgramJob::read);
  connect(&m_process, &QProcess::finished, this, &ProgramJob::end);
  connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) end();
  });
}

ProgramJob::~ProgramJob() {
  m_process.disconnect(this);
  if (m_process.state() == QProcess::NotRunning) return;
  m_process.terminate();
  if (!m_process.waitForFinished(kStopMs)) m_process.kill();
  m_process.waitForFinished(kStopMs);
}

int ProgramJob::start(const QString& program, const QStringList& arguments) {
  m_job = m_jobs.begin({.name = m_order.name, .on = m_order.on, .rank = JobRank::Beside, .cancel = [this] { stop(); }});
  m_process.start(program, arguments);
  return m_job;
}

void ProgramJob::stop() {
  m_stopped = true;
  m_process.terminate();
}

/// A line such as "kvlab: train gates: windows 3/20, 5 s" or "epoch 2/12: loss 0.31" has a place and a length.
void ProgramJob::read() {
  static const QRegularExpression counts("(\\d+)/(\\d+)");
  while (m_process.canReadLine()) {
    const QString line = QString::fromUtf8(m_process.readLine()).trimmed();
    if (line.isEmpty()) continue;
    m_last = line;
    emit said(line);
    const QRegularExpressionMatch found = counts.match(line);
    m_jobs.report(m_job, QString(line).remove(m_order.prefix), found.captured(1).toLongLong(),
                  found.captured(2).toLongLong());
  }
}

JobOutcome ProgramJob::ending() const {
  if (m_stopped) return {JobState::Stopped, m_order.stopped};
  if (m_process.error() == QProcess::UnknownError && m_process.exitStatus() == QProcess::NormalExit)
    return m_order.end(m_job, m_process.exitCode(), QString(m_last).remove(QStringLiteral("kvlab: error: ")));
  return {JobState::Failed, m_last.isEmpty() ? tr("%1 does not start").arg(m_process.program()) : m_last};
}

void ProgramJob::end() {
  if (std::exchange(m_ended, true)) return;
  read();
  m_last += QString::fromUtf8(m_process.readAll()).trimmed();
  deleteLater();
  const JobOutcome how = ending();
  m_jobs.end(m_job, how.state, how.how);
  emit ended();
}

std::optional<CheckedTest> checkedTest(const QString& line) {
  static const QRegularExpression form("^(\\w+) +(passed|FAILED|skipped) +(-|\\S+ of \\S+) +([\\d.]+) s  (.*)$");
  const QRegularExpressionMatch found = form.match(line);
  if (!found.hasMatch()) return {};
  return CheckedTest{found.captured(1), found.captured(2), found.captured(3), found.captured(4), found.captured(5)};
}

ProgramJob* checkJob(JobList& jobs, const QString& model) {
  const auto failed = std::make_shared<QStringList>();
  const auto end = [failed](int, int exitCode, const QString& last) -> JobOutcome {
    if (exitCode == 0) return {JobState::Done, JobList::tr("No test failed: %1").arg(last)};
    return {JobState::Failed, failed->isEmpty() ? last : JobList::tr("Failed: %1").arg(failed->join(", "))};
  };
  auto* job = new ProgramJob(jobs,
                             {.name = JobList::tr("Check model"),
                              .on = model,
                              .prefix = QStringLiteral("kvlab: check "),
                              .stopped = JobList::tr("Stopped by hand"),
                              .end = end});
  QObject::connect(job, &ProgramJob::said, job, [failed](const QString& line) {
    if (const auto test = checkedTest(line); test && test->outcome == "FAILED") *failed << test->id;
  });
  return job;
}

QStringList trainingArguments(const TrainingChoice& choice) {
  QStringList out{"train",     choice.what, "--model",      choice.model, "--text",
                  choice.text, "--work",    workOf(choice), "--resume"};
  if (!choice.out.isEmpty()) out << "--out" << choice.out;
  if (!choice.python.isEmpty()) out << "--python" << choice.python;
  if (choice.recordOnly) out << "--record-only";
  return out;
}

int beginTraining(JobList& jobs, const QString& program, const TrainingChoice& choice) {
  const auto end = [&jobs, choice](int number, int exitCode, const QString& last) -> JobOutcome {
    if (exitCode != 0) return {JobState::Failed, last};
    jobs.setPlace(number, {.folder = choice.recordOnly ? workOf(choice) : QFileInfo(last).absolutePath()});
    return {JobState::Done, (choice.recordOnly ? JobList::tr("Recorded; %1") : JobList::tr("Saved in %1")).arg(last)};
  };
  auto* training = new ProgramJob(jobs,
                                  {.name = JobList::tr("Train %1").arg(choice.what),
                                   .on = choice.model,
                                   .prefix = QStringLiteral("kvlab: train "),
                                   .stopped = JobList::tr("Stopped by hand; the same training goes on from here"),
                                   .end = end});
  return training->start(program, trainingArguments(choice));
}

}  // namespace kvlab
