// SPDX-License-Identifier: GPL-3.0-or-later
// The settings of the living session in the form of a new one: keys that can change are applied as edits, fixed keys
// lead to a new session. Not modal; deletes itself when closed. GUI thread.
#pragma once
#include <QDialog>

#include "app/forms/living_settings.h"
#include "app/forms/memory_line.h"

class QLabel;
class QPushButton;

namespace kvlab {

class JobList;
class ManifestEditor;

struct LivingSession {
  nlohmann::json manifest;                                         // in force, complete
  std::function<QString(const nlohmann::json& change)> line = {};  // the call in a script
  MemoryAsk memory = {};
};

class SettingsPanel : public QDialog {
  Q_OBJECT
 public:
  SettingsPanel(LivingSession session, JobList& jobs, QWidget* parent);
  /// The session's manifest is another one now; the person's entries stay.
  void follow(const nlohmann::json& manifest);
  /// The outcome of the last `wanted`.
  void answered(const Result<nlohmann::json>& reply);

 signals:
  /// Manifests as JSON.
  void wanted(const QString& manifest);
  void another(const QString& manifest);

 private:
  void addButtons();
  /// Keeps the change that leads to the manifest, or says why there is none.
  std::optional<Error> readChange(const nlohmann::json& manifest);
  void sayCall(bool valid);
  void apply();

  LivingSession m_session;
  nlohmann::json m_change = nlohmann::json::object();  // to the newest valid manifest
  ManifestEditor* m_editor;
  QLabel* m_call;
  QPushButton* m_apply = nullptr;
};

}  // namespace kvlab
