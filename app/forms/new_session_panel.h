// SPDX-License-Identifier: GPL-3.0-or-later
// The window in which a session is described and opened: presets, name, starting text, manifest, and the session that
// opening ends. Not modal; deletes itself when closed. GUI thread.
#pragma once
#include <QDialog>
#include <functional>
#include <nlohmann/json.hpp>

#include "app/forms/memory_line.h"

class QComboBox;
class QLineEdit;
class QPushButton;
class QVBoxLayout;

namespace kvlab {

class JobList;
class ManifestEditor;
class StartField;

struct NewSessionSettings {
  nlohmann::json manifest = nlohmann::json::object();  // to begin with
  bool kept = false;                                   // own presets come from the settings of the program
  QString ends = {};                                   // the session that opening ends, in words; empty = none
  std::function<void()> saveCapture = {};              // saves that session
  MemoryAsk memory = {};
};

class NewSessionPanel : public QDialog {
  Q_OBJECT
 public:
  NewSessionPanel(NewSessionSettings settings, JobList& jobs, QWidget* parent);

 signals:
  /// {manifest, name?, start?} as JSON.
  void chosen(const QString& request);

 private:
  void addPresets(QVBoxLayout& column);
  void refreshPresets();
  void takePreset(int index);
  void askPresetName();
  void addStart(QVBoxLayout& column);
  void addEnd(QVBoxLayout& column);
  void addButtons(QVBoxLayout& column);
  void openFile();
  void saveFile();
  void accept() override;

  NewSessionSettings m_settings;
  ManifestEditor* m_editor;
  QComboBox* m_presets = nullptr;
  QPushButton* m_remove = nullptr;
  QLineEdit* m_name = nullptr;
  StartField* m_start = nullptr;
};

}  // namespace kvlab
