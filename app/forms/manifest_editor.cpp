// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/manifest_editor.h"

#include <QComboBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QVBoxLayout>

#include "app/base/manifest_path.h"
#include "app/forms/living_settings.h"
#include "app/forms/model_offer.h"
#include "app/forms/session_form.h"
#include "core/api/manifest.h"
#include "core/api/manifest_values.h"
#include "core/api/policy_spec.h"
#include "core/api/read_json.h"
#include "widgets/base/format.h"
#include "widgets/base/theme.h"

namespace kvlab {

using nlohmann::json;

ManifestEditor::ManifestEditor(JobList& jobs, QWidget* parent)
    : QWidget(parent),
      m_json(new QPlainTextEdit(this)),
      m_problem(new QLabel(this)),
      m_caption(new QLabel(tr("Manifest (everything else has its default)"), this)),
      m_offer(new ModelOffer(jobs, this)),
      m_form(new SessionForm(
          QStringList{"demo"} + m_offer->names() + QStringList{"synthetic:tinyllama-1.1b", "synthetic:smollm-135m"},
          this)),
      m_head(new QVBoxLayout) {
  m_json->setAccessibleName(tr("Manifest"));
  m_json->setToolTip(tr("The manifest as JSON; the form follows what is typed here"));
  m_json->setFont(Theme::current()->mono);
  m_problem->setObjectName("problem");
  m_problem->setWordWrap(true);
  m_problem->setTextFormat(Qt::PlainText);
  auto* model = qobject_cast<QComboBox*>(m_form->control("model"));
  connect(model, &QComboBox::currentTextChanged, m_offer, &ModelOffer::show);
  connect(m_form, &SessionForm::edited, this, &ManifestEditor::set);
  connect(m_json, &QPlainTextEdit::textChanged, this, &ManifestEditor::follow);
  auto* left = new QVBoxLayout;
  left->addLayout(m_head);
  left->addWidget(m_offer);
  left->addWidget(m_form, 1);
  auto* right = new QVBoxLayout;
  right->addWidget(m_caption);
  right->addWidget(m_json, 1);
  auto* sides = new QHBoxLayout;
  sides->addLayout(left, 3);
  sides->addLayout(right, 2);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addLayout(sides, 1);
  column->addWidget(m_problem);
}

json ManifestEditor::manifest() const {
  json read = json::parse(m_json->toPlainText().toStdString(), nullptr, false);
  return read.is_object() ? read : json();
}

void ManifestEditor::setManifest(const json& manifest) {
  m_json->setPlainText(QString::fromStdString(manifest.dump(2)));  // the form follows
}

void ManifestEditor::resetAll() {
  const json model = manifestValue(manifest(), "model");
  setManifest(model.is_null() ? json{{"model", "demo"}} : json{{"model", model}});
}

bool ManifestEditor::valid() {
  const json now = manifest();
  if (!now.is_null() && !errorOf(now)) return true;
  follow();
  return false;
}

std::optional<Error> ManifestEditor::errorOf(const json& manifest) const {
  if (const auto read = Manifest::fromJson(manifest); !read) return read.error();
  return m_check ? m_check(manifest) : std::nullopt;
}

void ManifestEditor::setBase(const json& base) {
  m_policy = member(shortManifest(base), "policy");
  m_form->setBase(base);
}

void ManifestEditor::setCaption(const QString& caption) { m_caption->setText(caption); }

/// An error that names the policy is about one of its keys, where that is known: the form has a control for it.
void ManifestEditor::say(const Error& error) {
  sayWrong(QString::fromStdString(error.text()));
  QString key = QString::fromStdString(error.field);
  if (key == QLatin1String("policy"))
    if (const auto policy = PolicySpec::fromJson(member(manifest(), "policy"));
        !policy && m_form->control("policy." + QString::fromStdString(policy.error().field)))
      key += '.' + QString::fromStdString(policy.error().field);
  m_form->mark(key);
}

void ManifestEditor::sayWrong(const QString& text) {
  m_problem->setStyleSheet("color:" + Theme::current()->error.name());
  m_problem->setText(text);
}

/// Shows a missing choice in a muted colour: a form without any choice is not wrong yet.
void ManifestEditor::sayMissing(const Error& error) {
  m_problem->setStyleSheet("color:" + Theme::current()->muted.name());
  m_problem->setText(sentence(error));
}

/// Keys that the form has no control for stay as they are.
void ManifestEditor::set(const QString& key, const json& value) {
  json now = manifest();
  if (now.is_null()) return sayWrong(tr("Correct the JSON first; the form cannot change it."));
  if (key.startsWith("policy.") && !now.contains("policy") && !m_policy.is_null()) now["policy"] = m_policy;
  setManifestValue(now, key, value);
  setManifest(now);
}

void ManifestEditor::follow() {
  std::string place;
  json now;
  try {
    now = json::parse(m_json->toPlainText().toStdString());
  } catch (const json::parse_error& error) {
    place = "byte " + std::to_string(error.byte);
  }
  m_form->mark({});
  if (!now.is_object()) {
    sayWrong(place.empty() ? tr("This is not a JSON object.")
                           : tr("This is not JSON: see %1.").arg(QString::fromStdString(place)));
    return emit checked(false);
  }
  m_form->setManifest(now);
  m_problem->clear();
  const auto error = errorOf(now);
  if (error) now.empty() ? sayMissing(*error) : say(*error);
  emit checked(!error);
  emit changed(now);
}

}  // namespace kvlab
