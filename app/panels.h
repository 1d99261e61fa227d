// SPDX-License-Identifier: GPL-3.0-or-later
// Small non-modal windows: settings of a new session, the list of commands, About. Each deletes itself when closed. GUI
// thread.
#pragma once
#include <QDialog>

#include "app/command_registry.h"

class QPlainTextEdit;
class QLabel;

namespace kvlab {

class SessionForm;

/// Edits a manifest, in a form over all keys and as JSON beside it; each follows the other.
class NewSessionPanel : public QDialog {
  Q_OBJECT
 public:
  NewSessionPanel(const nlohmann::json& manifest, JobList& jobs, QWidget* parent);

 signals:
  void chosen(const QString& manifest);

 private:
  void setManifest(const nlohmann::json& manifest);
  void set(const QString& key, const nlohmann::json& value);
  /// The form shows what the JSON says, and the line below what is wrong with it.
  void follow();
  void accept() override;

  QPlainTextEdit* m_json;
  SessionForm* m_form = nullptr;
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
