// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/program_job.h"

#include <QRegularExpression>
#include <utility>

namespace kvlab {

namespace {

constexpr int kStopMs = 5000;

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

}  // namespace kvlab
