// SPDX-License-Identifier: GPL-3.0-or-later
// The self-tests of a model (`kvlab check`) as a job. GUI thread.
#pragma once
#include <optional>

#include "app/jobs/program_job.h"

namespace kvlab {

/// A line of the program about a test that is over.
struct CheckedTest {
  QString id, outcome, figure, seconds, says;  // outcome: passed, FAILED or skipped
};
/// None: the line says something else.
std::optional<CheckedTest> checkedTest(const QString& line);

class CheckJob : public ProgramJob {
 public:
  CheckJob(JobList& jobs, const QString& model);

 protected:
  End endOf(int exitCode, const QString& last) override;

 private:
  QStringList m_failed;
};

}  // namespace kvlab
