// SPDX-License-Identifier: GPL-3.0-or-later
// Jobs as lines: those that run first, then those that ended, the newest first. Owned by its view. GUI thread.
#pragma once
#include "widgets/base/job_list.h"
#include "widgets/table/column_model.h"

namespace kvlab {

class JobsModel : public LineModel<Job> {
  Q_OBJECT
 public:
  /// `timed`: lines say how long a job will take, and when it ended.
  JobsModel(std::function<bool()> timed, QObject* parent);
  void show(const std::vector<Job>& jobs);
  /// Only figures of this job have changed.
  void update(const Job& job);
  int rowOf(int number) const;

 private:
  void addOutcome();

  std::function<bool()> m_timed;
};

}  // namespace kvlab
