// SPDX-License-Identifier: GPL-3.0-or-later
// What is known of a model that has a name, under the line where a model is chosen: title, licence, size, and whether
// it is on this machine. Fetches it with progress where it is not. Hidden while no such name is chosen. GUI thread.
#pragma once
#include <QWidget>
#include <memory>

#include "core/model/named_models.h"

class QLabel;
class QProgressBar;
class QPushButton;

namespace kvlab {

class ModelFetch;

class ModelOffer : public QWidget {
  Q_OBJECT
 public:
  explicit ModelOffer(QWidget* parent);
  ~ModelOffer() override;
  /// Names of the lists; empty, and the label says why, where a list cannot be read.
  QStringList names() const;
  void show(const QString& name);

 private:
  void refresh();
  void fetch();
  void fetched(const Result<std::string>& path);
  const NamedModel* chosen() const;

  std::vector<NamedModel> m_models;
  QString m_name;
  QString m_problem;  // of the lists, or of the last fetch
  std::unique_ptr<ModelFetch> m_fetch;
  QLabel* m_label;
  QProgressBar* m_bar;
  QPushButton* m_button;
};

}  // namespace kvlab
