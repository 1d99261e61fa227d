// SPDX-License-Identifier: GPL-3.0-or-later
// The self-tests of the session's model: a line for each test, with its figure when it is over. The tests run as a job
// beside the session. Not modal; deletes itself when closed, and a job that runs goes on. GUI thread.
#pragma once
#include <QDialog>
#include <QPointer>
#include <nlohmann/json.hpp>

#include "app/jobs/program_job.h"

class QLabel;
class QPushButton;
class QTreeWidget;

namespace kvlab {

class CheckPanel : public QDialog {
  Q_OBJECT
 public:
  /// tests: as listSelfTests() has them. program: the program that runs them.
  CheckPanel(JobList& jobs, const nlohmann::json& tests, QString program, QWidget* parent);

  /// The model that the tests are to run on, as a manifest names it.
  void setModel(const QString& model);
  /// Shows how a test ended.
  void take(const CheckedTest& test);

 signals:
  void helpWanted();

 private:
  void addButtons();
  void run();
  void showState();
  void showDetail();

  JobList& m_jobs;
  QString m_program, m_model;
  QPointer<ProgramJob> m_job;
  QLabel* m_state;
  QTreeWidget* m_tests;
  QLabel* m_detail;
  QPushButton *m_run = nullptr, *m_stop = nullptr;
  int m_passed = 0, m_failed = 0, m_skipped = 0;
};

}  // namespace kvlab
