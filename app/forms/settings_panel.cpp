// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/settings_panel.h"

#include <QDialogButtonBox>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/forms/manifest_editor.h"
#include "app/forms/session_form.h"
#include "widgets/base/button_use.h"
#include "widgets/base/theme.h"

namespace kvlab {

using nlohmann::json;

SettingsPanel::SettingsPanel(LivingSession session, JobList& jobs, QWidget* parent)
    : QDialog(parent),
      m_session(std::move(session)),
      m_editor(new ManifestEditor(jobs, this)),
      m_call(new QLabel(this)) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(tr("Session Settings"));
  resize(900, 640);
  m_call->setObjectName("call");
  m_call->setWordWrap(true);
  m_call->setTextFormat(Qt::PlainText);
  m_call->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_call->setAccessibleName(tr("What Apply does"));
  m_editor->form().lock(whyFixed);
  m_editor->setCheck([this](const json& manifest) { return readChange(manifest); });
  auto* column = new QVBoxLayout(this);
  column->addWidget(m_editor, 1);
  if (m_session.memory) {
    auto* memory = new MemoryLine(m_session.memory, this);
    connect(m_editor, &ManifestEditor::changed, memory, &MemoryLine::ask);
    column->addWidget(memory);
  }
  column->addWidget(m_call);
  addButtons();
  connect(m_editor, &ManifestEditor::checked, this, &SettingsPanel::sayCall);
  m_editor->setManifest(shortManifest(m_session.manifest));
}

void SettingsPanel::addButtons() {
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  m_apply = pushButton(tr("Apply"), tr("Apply the changes listed above. One Undo takes them back"), this);
  m_apply->setDefault(true);
  buttons->addButton(m_apply, QDialogButtonBox::ApplyRole);
  auto* other = pushButton(tr("New Session from These Settings…"),
                           tr("Open the form of a new session with what stands here, fixed settings included"), this);
  auto* back = pushButton(tr("Back to the Session's"), tr("Show the settings that the session has now"), this);
  for (QPushButton* one : {other, back}) {
    one->setAutoDefault(false);
    buttons->addButton(one, QDialogButtonBox::ResetRole);
  }
  buttons->button(QDialogButtonBox::Close)->setAutoDefault(false);
  connect(m_apply, &QPushButton::clicked, this, &SettingsPanel::apply);
  connect(other, &QPushButton::clicked, this, [this] {
    const json manifest = m_editor->manifest();
    if (!manifest.is_null()) emit another(QString::fromStdString(manifest.dump()));
  });
  connect(back, &QPushButton::clicked, this, [this] { m_editor->setManifest(shortManifest(m_session.manifest)); });
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  layout()->addWidget(buttons);
}

std::optional<Error> SettingsPanel::readChange(const json& manifest) {
  auto change = settingsBetween(m_session.manifest, manifest);
  if (!change) return change.error();
  m_change = change.take();
  return {};
}

void SettingsPanel::sayCall(bool valid) {
  const bool changes = valid && !m_change.empty();
  m_apply->setEnabled(changes);
  m_call->setText(!valid         ? tr("Apply does nothing before the mistake is corrected.")
                      : !changes ? tr("The session has these settings.")
                                 : tr("Apply runs %1").arg(m_session.line(m_change)));
}

void SettingsPanel::apply() {
  const json manifest = m_editor->manifest();
  if (!m_editor->valid()) return;
  m_apply->setEnabled(false);
  emit wanted(QString::fromStdString(manifest.dump()));
}

void SettingsPanel::follow(const json& manifest) {
  if (manifest == m_session.manifest) return;
  const bool untouched = m_editor->manifest() == shortManifest(m_session.manifest);
  m_session.manifest = manifest;
  if (untouched) return m_editor->setManifest(shortManifest(manifest));
  sayCall(m_editor->valid());
}

void SettingsPanel::answered(const Result<json>& reply) {
  sayCall(m_editor->valid());
  if (!reply) m_editor->say(reply.error());
}

}  // namespace kvlab
