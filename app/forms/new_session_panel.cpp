// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/new_session_panel.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/base/ask_path.h"
#include "app/base/manifest_path.h"
#include "app/base/session_request.h"
#include "app/forms/manifest_editor.h"
#include "app/forms/session_presets.h"
#include "app/forms/start_field.h"
#include "app/plain/read_file.h"
#include "core/api/manifest_values.h"
#include "widgets/base/button_use.h"
#include "widgets/base/save_file.h"

namespace kvlab {

using nlohmann::json;

namespace {

constexpr const char* kFiles = "Manifests (*.json)";

bool isDemo(const json& manifest) {
  return manifestText(manifestValue(manifest, "model")) == "demo" || !manifest.contains("model");
}

}  // namespace

NewSessionPanel::NewSessionPanel(NewSessionSettings settings, JobList& jobs, QWidget* parent)
    : QDialog(parent), m_settings(std::move(settings)), m_editor(new ManifestEditor(jobs, this)) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(tr("New Session"));
  resize(900, 640);
  auto* column = new QVBoxLayout(this);
  addPresets(m_editor->head());
  addStart(*column);
  column->addWidget(m_editor, 1);
  if (m_settings.memory) {
    auto* memory = new MemoryLine(m_settings.memory, this);
    connect(m_editor, &ManifestEditor::changed, memory, &MemoryLine::ask);
    column->addWidget(memory);
  }
  if (!m_settings.ends.isEmpty()) addEnd(*column);
  addButtons(*column);
  connect(m_editor, &ManifestEditor::changed, this, [this](const json& now) {
    m_start->suit(isDemo(now));
    m_name->setPlaceholderText(sessionName({{"manifest", now}}));
  });
  m_editor->setManifest(m_settings.manifest.empty() ? json{{"model", "demo"}} : m_settings.manifest);
}

void NewSessionPanel::addPresets(QVBoxLayout& column) {
  m_presets = new QComboBox(this);
  m_presets->setObjectName("presets");
  m_presets->setAccessibleName(tr("Preset"));
  m_presets->setToolTip(tr("A manifest to begin with; the model stays"));
  m_presets->setPlaceholderText(tr("Begin with a preset…"));
  connect(m_presets, &QComboBox::activated, this, &NewSessionPanel::takePreset);
  auto* row = new QHBoxLayout;
  row->addWidget(m_presets, 1);
  if (m_settings.kept) {
    auto* save = pushButton(tr("Save Preset…"), tr("Keep this manifest under a name of yours"), this);
    m_remove = pushButton(tr("Delete Preset"), tr("Forget the chosen preset; only your own can be deleted"), this);
    for (QPushButton* one : {save, m_remove}) one->setAutoDefault(false);
    connect(save, &QPushButton::clicked, this, &NewSessionPanel::askPresetName);
    connect(m_remove, &QPushButton::clicked, this, [this] {
      removePreset(m_presets->currentText());
      refreshPresets();
    });
    row->addWidget(save);
    row->addWidget(m_remove);
  }
  column.addLayout(row);
  refreshPresets();
}

void NewSessionPanel::refreshPresets() {
  m_presets->clear();
  for (const SessionPreset& one : sessionPresets(m_settings.kept)) m_presets->addItem(one.name, one.own);
  m_presets->setCurrentIndex(-1);
  if (m_remove) m_remove->setEnabled(false);
}

void NewSessionPanel::takePreset(int index) {
  json next = sessionPresets(m_settings.kept)[static_cast<std::size_t>(index)].manifest;
  const json model = manifestValue(m_editor->manifest(), "model");
  if (!model.is_null()) next["model"] = model;
  m_editor->setManifest(next);
  if (m_remove) m_remove->setEnabled(m_presets->itemData(index).toBool());
}

void NewSessionPanel::askPresetName() {
  if (!m_editor->valid()) return;
  auto* ask = new QInputDialog(this);
  ask->setAttribute(Qt::WA_DeleteOnClose);
  ask->setWindowTitle(tr("Save Preset"));
  ask->setLabelText(tr("Name of the preset; an own preset of this name is replaced:"));
  ask->setTextValue(m_name->text());
  connect(ask, &QInputDialog::textValueSelected, this, [this](const QString& name) {
    if (name.trimmed().isEmpty()) return;
    savePreset(name.trimmed(), m_editor->manifest());
    refreshPresets();
    m_presets->setCurrentIndex(m_presets->findText(name.trimmed()));
    m_remove->setEnabled(true);
  });
  ask->show();
}

void NewSessionPanel::addStart(QVBoxLayout& column) {
  m_name = new QLineEdit(this);
  m_name->setObjectName("name");
  m_name->setAccessibleName(tr("Name of the session"));
  m_name->setToolTip(tr("The title of the window and Open Recent show this name"));
  m_start = new StartField(this);
  auto* label = new QLabel(tr("Name"), this);
  label->setBuddy(m_name);
  auto* row = new QHBoxLayout;
  row->addWidget(label);
  row->addWidget(m_name, 2);
  row->addWidget(m_start, 3);
  column.addLayout(row);
}

/// A session that nobody has saved ends with a word, and can be saved.
void NewSessionPanel::addEnd(QVBoxLayout& column) {
  auto* words = new QLabel(tr("Open ends the shown session: %1.").arg(m_settings.ends), this);
  words->setObjectName("ends");
  words->setWordWrap(true);
  auto* save =
      pushButton(tr("Save Capture…"), tr("Save the shown session first, so that it can be opened again"), this);
  save->setAutoDefault(false);
  connect(save, &QPushButton::clicked, this, m_settings.saveCapture);
  auto* row = new QHBoxLayout;
  row->addWidget(words, 1);
  row->addWidget(save);
  column.addLayout(row);
}

void NewSessionPanel::addButtons(QVBoxLayout& column) {
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Open | QDialogButtonBox::Cancel, this);
  if (!m_settings.ends.isEmpty()) buttons->button(QDialogButtonBox::Cancel)->setText(tr("Keep Working"));
  const auto add = [&](const QString& text, const QString& tip, auto run) {
    QPushButton* button = pushButton(text, tip, this);
    button->setAutoDefault(false);
    buttons->addButton(button, QDialogButtonBox::ResetRole);
    connect(button, &QPushButton::clicked, this, run);
  };
  add(tr("Open Manifest…"), tr("Read the manifest of a file into this form"), [this] { openFile(); });
  add(tr("Save Manifest…"), tr("Write this manifest to a file"), [this] { saveFile(); });
  add(tr("Reset All"), tr("Every setting but the model goes back to its default"), [this] { m_editor->resetAll(); });
  connect(buttons, &QDialogButtonBox::accepted, this, &NewSessionPanel::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  column.addWidget(buttons);
}

void NewSessionPanel::openFile() {
  askForPath(this, {tr("Open Manifest"), kFiles}, [this](const QString& path) {
    const auto read = readManifest(path.toStdString());
    if (read) return m_editor->setManifest(*read);
    m_editor->say(read.error());
  });
}

void NewSessionPanel::saveFile() {
  if (!m_editor->valid()) return;
  askForPath(this, {tr("Save Manifest"), kFiles, true, ".json"}, [this](const QString& path) {
    const std::string text = m_editor->manifest().dump(2) + "\n";
    const Status saved = kvlab::saveFile(path, QByteArray::fromStdString(text), "the manifest");
    if (!saved) m_editor->say(saved.error());
  });
}

void NewSessionPanel::accept() {
  if (!m_editor->valid()) return;
  json request{{"manifest", m_editor->manifest()}};
  if (const QString name = m_name->text().trimmed(); !name.isEmpty()) request["name"] = name.toStdString();
  if (const json start = m_start->start(); !start.is_null()) request["start"] = start;
  emit chosen(QString::fromStdString(request.dump()));
  QDialog::accept();
}

}  // namespace kvlab
