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

class Training : public ProgramJob {
 public:
  Training(JobList& jobs, const TrainingChoice& choice)
      : ProgramJob(jobs,
                   {.name = JobList::tr("Train %1").arg(choice.what),
                    .on = choice.model,
                    .prefix = QStringLiteral("kvlab: train "),
                    .stopped = JobList::tr("Stopped by hand; the same training goes on from here")}),
        m_choice(choice) {}

 protected:
  /// The last line of the program names the file that it wrote, or the folder of the recordings.
  End endOf(int exitCode, const QString& last) override {
    if (exitCode != 0) return {JobState::Failed, last};
    jobs().setPlace(number(), {.folder = m_choice.recordOnly ? workOf(m_choice) : QFileInfo(last).absolutePath()});
    return {JobState::Done,
            m_choice.recordOnly ? JobList::tr("Recorded; %1").arg(last) : JobList::tr("Saved in %1").arg(last)};
  }

 private:
  TrainingChoice m_choice;
};

}  // namespace

ProgramJob::ProgramJob(JobList& jobs, Words words) : QObject(&jobs), m_jobs(jobs), m_words(std::move(words)) {
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
  m_job = m_jobs.begin({.name = m_words.name, .on = m_words.on, .rank = JobRank::Beside, .cancel = [this] { stop(); }});
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
    m_jobs.report(m_job, QString(line).remove(m_words.prefix), found.captured(1).toLongLong(),
                  found.captured(2).toLongLong());
  }
}

ProgramJob::End ProgramJob::ending() {
  if (m_stopped) return {JobState::Stopped, m_words.stopped};
  if (m_process.error() == QProcess::UnknownError && m_process.exitStatus() == QProcess::NormalExit)
    return endOf(m_process.exitCode(), QString(m_last).remove(QStringLiteral("kvlab: error: ")));
  return {JobState::Failed, m_last.isEmpty() ? tr("%1 does not start").arg(m_process.program()) : m_last};
}

void ProgramJob::end() {
  if (std::exchange(m_ended, true)) return;
  read();
  m_last += QString::fromUtf8(m_process.readAll()).trimmed();
  deleteLater();
  const End how = ending();
  m_jobs.end(m_job, how.state, how.how);
  emit ended();
}

std::optional<CheckedTest> checkedTest(const QString& line) {
  static const QRegularExpression form("^(\\w+) +(passed|FAILED|skipped) +(-|\\S+ of \\S+) +([\\d.]+) s  (.*)$");
  const QRegularExpressionMatch found = form.match(line);
  if (!found.hasMatch()) return {};
  return CheckedTest{found.captured(1), found.captured(2), found.captured(3), found.captured(4), found.captured(5)};
}

CheckJob::CheckJob(JobList& jobs, const QString& model)
    : ProgramJob(jobs,
                 {.name = JobList::tr("Check model"),
                  .on = model,
                  .prefix = QStringLiteral("kvlab: check "),
                  .stopped = JobList::tr("Stopped by hand")}) {
  connect(this, &ProgramJob::said, this, [this](const QString& line) {
    if (const auto test = checkedTest(line); test && test->outcome == "FAILED") m_failed << test->id;
  });
}

CheckJob::End CheckJob::endOf(int exitCode, const QString& last) {
  if (exitCode == 0) return {JobState::Done, JobList::tr("No test failed: %1").arg(last)};
  if (m_failed.isEmpty()) return {JobState::Failed, last};
  return {JobState::Failed, JobList::tr("Failed: %1").arg(m_failed.join(", "))};
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
  return (new Training(jobs, choice))->start(program, trainingArguments(choice));
}

}  // namespace kvlab
