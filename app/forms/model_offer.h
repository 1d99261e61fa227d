// SPDX-License-Identifier: GPL-3.0-or-later
// Facts about a named model, under the line where a model is chosen: title, licence, size, and whether
// it is on this machine. Fetches the model if it is missing: a job, which goes on when the window is closed. Hidden
// while no such name is chosen. GUI thread.
#pragma once
#include <QWidget>

#include "core/model/named_models.h"

class QLabel;
class QProgressBar;
class QPushButton;

namespace kvlab {

class JobList;
struct Job;

class ModelOffer : public QWidget {
  Q_OBJECT
 public:
  ModelOffer(JobList& jobs, QWidget* parent);
  /// Names of the lists; empty, and the label says why, where a list cannot be read.
  QStringList names() const;
  void show(const QString& name);

 private:
  void refresh();
  void fetch();
  void showProgress();
  const NamedModel* chosen() const;
  /// The newest job that fetches the chosen model; null if there is none.
  const Job* job() const;
  bool fetching() const;

  JobList& m_jobs;
  std::vector<NamedModel> m_models;
  QString m_name;
  QString m_problem;  // error of the lists
  QLabel* m_label;
  QProgressBar* m_bar;
  QPushButton* m_button;
};

}  // namespace kvlab
