// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/session_form.h"

#include <QFormLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/base/manifest_path.h"
#include "app/forms/form_field.h"
#include "core/api/layout_names.h"
#include "core/api/manifest_list.h"
#include "core/api/manifest_values.h"
#include "core/api/policy_spec.h"
#include "core/lists/lists.h"
#include "widgets/base/theme.h"

namespace kvlab {

using nlohmann::json;

namespace {

QString fromView(std::string_view text) { return QString::fromUtf8(text.data(), std::ssize(text)); }

/// Help on the manifest's policy or layout, in the words of the engine's lists; empty for other keys and wrong names.
QString helpOfChoice(const json& manifest, const QString& key) {
  if (key != "policy" && key != "layout") return {};
  const std::string name = manifestText(valueInForce(manifest, key.toStdString())).section(':', 0, 0).toStdString();
  if (key == "policy") {
    const std::optional<PolicyName> policy = policyNamed(name);
    return policy ? fromView(policy->help) : QString();
  }
  for (const LayoutName& one : layouts())
    if (one.name == name) return fromView(one.help);
  return {};
}

QStringList choicesOf(const ManifestKey& key, const QStringList& models) {
  QStringList out;
  if (key.key == "model") return models;
  if (key.key == "backend")
    for (const std::string& one : backendChoices()) out << QString::fromStdString(one);
  if (!out.isEmpty()) return out;
  if (key.type == "layout")
    for (const LayoutName& one : layouts()) out << fromView(one.name);
  if (key.type == "policy")
    for (const PolicyName& one : policies()) out << fromView(one.name);
  if (key.type == "true or false") out = {"true", "false"};
  if (key.type.starts_with("one of ")) out = QString::fromStdString(key.type.substr(7)).split(", ");
  for (QString& one : out)
    if (one.startsWith("or ")) one.remove(0, 3);
  out.removeAll("\"\"");
  return out;
}

/// Something else than the choices can be typed.
bool isOpen(const ManifestKey& key, const QStringList& choices) {
  return key.key == "model" || key.type == "layout" || key.type == "policy" ||
      std::any_of(choices.begin(), choices.end(), [](const QString& word) { return word.startsWith('{'); });
}

/// Keys have a control but objects, whose keys have; wLOD is on or off besides.
bool hasControl(const ManifestKey& key) {
  const bool inner = key.key.find("[]") != std::string::npos || key.key == "policy.name";
  return !inner && (key.type != "object" || key.key == "wlod");
}

/// A key that has keys of its own leads their group.
QString groupName(const std::vector<ManifestKey>& all, const QString& path) {
  if (path.contains('.')) return path.section('.', 0, 0);
  const std::string own = path.toStdString() + ".";
  const bool leads =
      std::any_of(all.begin(), all.end(), [&](const ManifestKey& one) { return one.key.starts_with(own); });
  return leads ? path : QString();
}

}  // namespace

struct SessionForm::Group {
  QWidget* box = nullptr;
  QFormLayout* form = nullptr;
  QToolButton* fold = nullptr;
  std::vector<FormField*> fields = {};
};

SessionForm::SessionForm(const QStringList& models, QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  auto* find = new QLineEdit(this);
  find->setObjectName("search");
  find->setPlaceholderText(tr("Search the settings"));
  find->setAccessibleName(tr("Search the settings"));
  find->setToolTip(tr("Show only settings whose name or meaning has these words"));
  find->setClearButtonEnabled(true);
  find->installEventFilter(this);
  connect(find, &QLineEdit::textChanged, this, &SessionForm::search);
  m_scroll = new QScrollArea(this);
  m_scroll->setWidgetResizable(true);
  m_scroll->setFrameShape(QFrame::NoFrame);
  m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* content = new QWidget(m_scroll);
  auto* groups = new QVBoxLayout(content);
  m_scroll->setWidget(content);
  column->addWidget(find);
  column->addWidget(m_scroll, 1);
  const std::vector<ManifestKey> all = manifestKeys();
  for (const ManifestKey& key : all)
    if (hasControl(key))
      addField(key, groupOf(groupName(all, QString::fromStdString(key.key)), content, groups), models);
  groups->addStretch(1);
  setManifest(json::object());
}

SessionForm::~SessionForm() = default;

SessionForm::Group& SessionForm::groupOf(const QString& name, QWidget* content, QVBoxLayout* column) {
  const QString title = name.isEmpty() ? tr("session") : name;
  for (const auto& one : m_groups)
    if (one->box->objectName() == title) return *one;
  auto group = std::make_unique<Group>();
  group->box = new QWidget(content);
  group->box->setObjectName(title);
  auto* inside = new QVBoxLayout(group->box);
  inside->setContentsMargins(0, 0, 0, Theme::kMedium);
  auto* heading = new QLabel(wordsOfKey(title), group->box);
  heading->setObjectName("formHeading");
  inside->addWidget(heading);
  group->form = new QFormLayout;
  group->form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  inside->addLayout(group->form);
  group->fold = new QToolButton(group->box);
  group->fold->setCheckable(true);
  group->fold->setAutoRaise(true);
  group->fold->setFocusPolicy(Qt::TabFocus);
  group->fold->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  group->fold->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  connect(group->fold, &QToolButton::toggled, this, [this, one = group.get()] { arrange(*one); });
  inside->addWidget(group->fold);
  column->addWidget(group->box);
  return *m_groups.emplace_back(std::move(group));
}

void SessionForm::addField(const ManifestKey& key, Group& group, const QStringList& models) {
  const QStringList choices = choicesOf(key, models);
  auto* field = new FormField(key, choices, isOpen(key, choices), group.box);
  connect(field, &FormField::edited, this, [this, field] { emit edited(field->key(), field->value()); });
  group.form->addRow(field->label(), field);
  group.fields.push_back(field);
  m_fields.push_back(field);
  if (key.type != "layout" && key.type != "policy") return;
  auto* help = new QLabel(group.box);
  help->setObjectName("help_" + field->key());
  help->setWordWrap(true);
  help->setForegroundRole(QPalette::PlaceholderText);
  group.form->addRow(QString(), help);
}

void SessionForm::setManifest(const json& manifest) {
  const json whole = withChanges(m_base, manifest);
  if (!m_base.empty()) sayBase(manifest.contains("policy"));
  for (FormField* field : m_fields) {
    field->setIdle(QString::fromStdString(whyIdle(whole, field->key().toStdString())));
    field->show(manifestValue(manifest, field->key().toStdString()));
    if (auto* help = findChild<QLabel*>("help_" + field->key())) help->setText(helpOfChoice(whole, field->key()));
  }
  arrange();
}

void SessionForm::setBase(const json& base) {
  m_base = base;
  sayBase(false);
}

/// A policy that is given takes nothing from that of the base.
void SessionForm::sayBase(bool ownPolicy) {
  for (FormField* field : m_fields) {
    const json value = manifestValue(m_base, field->key().toStdString());
    const bool own = ownPolicy && field->key().startsWith("policy.");
    const bool says = !own && !value.is_null() && !value.is_object() && value != "";
    field->setOtherwise(says ? tr("as the session: %1").arg(manifestText(value)) : QString());
  }
}

void SessionForm::lock(const std::function<QString(const QString& key)>& why) {
  for (FormField* field : m_fields) field->lock(why(field->key()));
  arrange();
}

void SessionForm::mark(const QString& key) {
  for (FormField* field : m_fields) {
    const bool wrong = !key.isEmpty() && (key == field->key() || key.startsWith(field->key() + '['));
    field->dress(wrong);
    if (wrong && key != m_marked) m_scroll->ensureWidgetVisible(field);
  }
  if (!key.isEmpty()) m_marked = key;
}

/// Return in the search opens no session.
bool SessionForm::eventFilter(QObject*, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return false;
  const int key = static_cast<QKeyEvent*>(event)->key();
  return key == Qt::Key_Return || key == Qt::Key_Enter;
}

QStringList SessionForm::keys() const {
  QStringList out;
  for (const FormField* field : m_fields) out << field->key();
  return out;
}

QWidget* SessionForm::control(const QString& key) const {
  for (const FormField* field : m_fields)
    if (field->key() == key) return field->control();
  return nullptr;
}

void SessionForm::search(const QString& text) {
  m_words = text.toLower().split(' ', Qt::SkipEmptyParts);
  arrange();
}

void SessionForm::arrange() {
  for (const auto& group : m_groups) arrange(*group);
}

void SessionForm::arrange(Group& group) {
  const bool searching = !m_words.isEmpty();
  QStringList idle, locked;  // reasons
  int without = 0, fixed = 0;
  bool any = false;
  const auto count = [](int& number, QStringList& reasons, const QString& why) {
    ++number;
    if (!reasons.contains(why)) reasons << why;
  };
  for (FormField* field : group.fields) {
    const bool folded = (field->idle() || field->locked()) && !field->given();
    const bool shown = searching ? field->matches(m_words) : !folded || group.fold->isChecked();
    group.form->setRowVisible(field, shown);
    if (auto* help = group.box->findChild<QLabel*>("help_" + field->key()))
      group.form->setRowVisible(help, shown && !help->text().isEmpty());
    any = any || shown;
    if (folded && field->locked()) count(fixed, locked, field->whyLocked());
    else if (folded) count(without, idle, field->whyIdle());
  }
  QStringList words;
  if (fixed) words << tr("%1 locked: each %2").arg(fixed).arg(locked.join("; "));
  if (without) words << tr("%1 without effect: %2").arg(without).arg(idle.join("; "));
  group.fold->setVisible(!words.isEmpty() && !searching);
  group.fold->setArrowType(group.fold->isChecked() ? Qt::DownArrow : Qt::RightArrow);
  group.fold->setText(words.join(" · "));
  group.fold->setAccessibleName(group.fold->text());
  group.fold->setToolTip(tr("Show or hide these settings: %1.").arg(words.join("; ")));
  group.box->setVisible(any || !searching);
}

}  // namespace kvlab
