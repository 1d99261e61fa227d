// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/check_job.h"

#include <QRegularExpression>

namespace kvlab {

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

}  // namespace kvlab
