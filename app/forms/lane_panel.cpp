// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/lane_panel.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QDialogButtonBox>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/base/manifest_path.h"
#include "app/forms/manifest_editor.h"
#include "app/forms/session_form.h"
#include "app/forms/session_presets.h"
#include "core/api/manifest.h"

namespace kvlab {

using nlohmann::json;

namespace {

const QStringList kSame = {"model", "backend", "weights", "numerics", "dtype"};

QString whySame(const QString& key) {
  return kSame.contains(key) ? QCoreApplication::translate("kvlab::LanePanel", "is the same in all lanes") : QString();
}

std::optional<Error> whyNoLane(const json& session, const json& changes) {
  const auto refused = [&](const std::string& why, const std::string& key) {
    return Error("bad_manifest", "the lane was not added", why, "change what lanes may differ in", key, changes);
  };
  for (const QString& key : kSame)
    if (changes.contains(key.toStdString()))
      return refused((key + ' ' + whySame(key)).toStdString(), key.toStdString());
  if (changes.empty()) return refused("the lane changes nothing", "");
  const auto read = Manifest::fromJson(withChanges(session, changes));
  return read ? std::nullopt : std::optional(read.error());
}

}  // namespace

LanePanel::LanePanel(LaneSettings settings, JobList& jobs, QWidget* parent)
    : QDialog(parent), m_settings(std::move(settings)), m_editor(new ManifestEditor(jobs, this)) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(tr("Add Lane"));
  resize(900, 600);
  m_editor->setCaption(tr("What the lane changes (all else is as in the session)"));
  m_editor->setBase(m_settings.manifest);
  m_editor->form().lock(whySame);
  m_editor->setCheck([this](const json& changes) { return whyNoLane(m_settings.manifest, changes); });
  addPresets(m_editor->head());
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
  buttons->button(QDialogButtonBox::Ok)->setText(tr("Add Lane"));
  connect(buttons, &QDialogButtonBox::accepted, this, &LanePanel::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(m_editor, &ManifestEditor::checked, buttons->button(QDialogButtonBox::Ok), &QPushButton::setEnabled);
  auto* column = new QVBoxLayout(this);
  column->addWidget(m_editor, 1);
  column->addWidget(buttons);
  m_editor->setManifest(json::object());
}

/// Presets without the keys that all lanes share, unless nothing is left.
void LanePanel::addPresets(QVBoxLayout& column) {
  auto* presets = new QComboBox(this);
  presets->setObjectName("presets");
  presets->setAccessibleName(tr("Preset"));
  presets->setToolTip(tr("Changes to begin with"));
  presets->setPlaceholderText(tr("Begin with a preset…"));
  for (const SessionPreset& one : sessionPresets(m_settings.kept)) {
    json changes = one.manifest;
    for (const QString& key : kSame) changes.erase(key.toStdString());
    if (!whyNoLane(m_settings.manifest, changes)) presets->addItem(one.name, QString::fromStdString(changes.dump(2)));
  }
  presets->setCurrentIndex(-1);
  connect(presets, &QComboBox::activated, this, [this, presets](int index) {
    m_editor->setManifest(json::parse(presets->itemData(index).toString().toStdString()));
  });
  column.addWidget(presets);
}

void LanePanel::accept() {
  if (!m_editor->valid()) return;
  emit chosen(QString::fromStdString(m_editor->manifest().dump()));
  QDialog::accept();
}

}  // namespace kvlab
