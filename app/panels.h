// SPDX-License-Identifier: GPL-3.0-or-later
// Small non-modal windows: settings of a new session, the list of commands, About. Each deletes itself when closed. GUI
// thread.
#pragma once
#include <QDialog>

#include "app/command_registry.h"

class QComboBox;
class QFormLayout;
class QPlainTextEdit;
class QLabel;

namespace kvlab {

/// Edits a manifest: common keys as controls, all keys as JSON.
class NewSessionPanel : public QDialog {
  Q_OBJECT
 public:
  NewSessionPanel(const nlohmann::json& manifest, QWidget* parent);

 signals:
  void chosen(const QString& manifest);

 private:
  QComboBox* addChoice(QFormLayout* form, const QString& label, const QString& key, const QStringList& values,
                       bool editable);
  void set(const QString& key, const QString& value);
  void accept() override;

  QPlainTextEdit* m_json;
  QLabel* m_problem;
};

class CommandHelpPanel : public QDialog {
  Q_OBJECT
 public:
  CommandHelpPanel(const CommandRegistry& registry, QWidget* parent);
};

class AboutPanel : public QDialog {
  Q_OBJECT
 public:
  AboutPanel(const QString& version, const QString& numerics, const QString& backends, QWidget* parent);
};

}  // namespace kvlab
