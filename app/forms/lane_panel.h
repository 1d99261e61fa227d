// SPDX-License-Identifier: GPL-3.0-or-later
// The form of a lane: its changes to the manifest of the session, with presets. Not modal; deletes itself when closed.
// GUI thread.
#pragma once
#include <QDialog>
#include <nlohmann/json.hpp>

class QComboBox;
class QVBoxLayout;

namespace kvlab {

class JobList;
class ManifestEditor;

struct LaneSettings {
  nlohmann::json manifest;  // manifest of the session, as it is in force
  bool kept = false;        // own presets come from the settings of the program
};

class LanePanel : public QDialog {
  Q_OBJECT
 public:
  LanePanel(LaneSettings settings, JobList& jobs, QWidget* parent);

 signals:
  /// An object of manifest keys as JSON.
  void chosen(const QString& changes);

 private:
  void addPresets(QVBoxLayout& column);
  void accept() override;

  LaneSettings m_settings;
  ManifestEditor* m_editor;
};

}  // namespace kvlab
