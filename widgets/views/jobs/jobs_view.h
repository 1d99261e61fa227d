// SPDX-License-Identifier: GPL-3.0-or-later
// Jobs: the running jobs, with their progress and a button that cancels them, and the outcome of the others. GUI
// thread.
#pragma once
#include "widgets/base/inspector_view.h"
#include "widgets/base/job_list.h"
#include "widgets/table/column_model.h"
#include "widgets/table/data_table.h"

namespace kvlab {

/// Jobs as lines: those that run first, then those that ended, the newest first. Owned by its view.
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

class JobsView : public InspectorView {
  Q_OBJECT
 public:
  JobsView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  DataTable& table() { return *m_table; }

 protected:
  void onSnapshot() override;

 private:
  void makeTable();
  void take();
  void addButtons();
  /// The line with the keyboard; null without one.
  const Job* current() const;
  void cancelCurrent();
  void goToCurrent();
  void runFor(const char* command, const Job& job);
  void showState();

  JobList& m_jobs;
  JobsModel* m_model;
  DataTable* m_table = nullptr;
  QLabel* m_state = nullptr;
  bool m_old = true;  // the list has changed since it was shown
};

}  // namespace kvlab
