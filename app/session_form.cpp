// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/session_form.h"

#include <QComboBox>
#include <QFormLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

#include "app/manifest_path.h"
#include "core/api/layout_names.h"
#include "core/api/manifest_list.h"
#include "core/api/policy_spec.h"
#include "widgets/base/theme.h"

namespace kvlab {

using nlohmann::json;

namespace {

/// What a text stands for; a text that does not fit stays a text, and the manifest's check names it.
json valueOf(const QString& text, const std::string& type) {
  if (text.trimmed().isEmpty()) return {};
  const json parsed = json::parse(text.toStdString(), nullptr, false);
  const bool plain = type.starts_with("text") || type.starts_with("one of") || type == "layout" || type == "policy";
  if (type == "text or integer" && parsed.is_number_integer()) return parsed;
  if (type.starts_with("one of") && parsed.is_object()) return parsed;
  return plain || parsed.is_discarded() ? json(text.toStdString()) : parsed;
}

QStringList choicesOf(const ManifestKey& key, const QStringList& models) {
  QStringList out;
  if (key.key == "model") return models;
  if (key.type == "layout")
    for (const LayoutName& one : layouts()) out << QString::fromUtf8(one.name.data(), std::ssize(one.name));
  if (key.type == "policy")
    for (const PolicyName& one : policies()) out << QString::fromUtf8(one.name.data(), std::ssize(one.name));
  if (key.type == "true or false") out = {"true", "false"};
  if (key.type.starts_with("one of ")) out = QString::fromStdString(key.type.substr(7)).split(", ");
  for (QString& one : out)
    if (one.startsWith("or ")) one.remove(0, 3);
  out.removeAll("\"\"");
  return out;
}

}  // namespace

struct SessionForm::Field {
  QString key;
  std::string type;
  QComboBox* choice = nullptr;  // or a line
  QLineEdit* line = nullptr;
  QLabel* label = nullptr;
  QFormLayout* group = nullptr;
  QString words;  // what a search finds

  QWidget* control() const { return choice ? static_cast<QWidget*>(choice) : line; }
  bool closed() const { return choice && !choice->isEditable(); }
  QString text() const {
    if (!choice) return line->text();
    return closed() && choice->currentIndex() == 0 ? QString() : choice->currentText();
  }
  void setText(const QString& text) {
    if (!choice) return line->setText(text);
    if (!closed()) return choice->setEditText(text);
    const int index = text.isEmpty() ? 0 : choice->findText(text);
    if (index < 0) choice->addItem(text);  // a wrong value is shown as it is
    choice->setCurrentIndex(index < 0 ? choice->count() - 1 : index);
  }
  void dress(bool wrong) const {
    QFont font = Theme::current()->ui;
    font.setWeight(text().isEmpty() ? QFont::Normal : QFont::DemiBold);
    label->setFont(font);
    label->setStyleSheet(wrong ? "color:" + Theme::current()->error.name() : QString());
  }
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
  auto* groupsBox = new QVBoxLayout(content);
  m_scroll->setWidget(content);
  column->addWidget(find);
  column->addWidget(m_scroll, 1);
  QHash<QString, QFormLayout*> groups;
  for (const ManifestKey& key : manifestKeys()) {
    const QString path = QString::fromStdString(key.key);
    if (key.type == "object" || path.contains("[]") || path == "policy.name") continue;
    const QString group = path.contains('.') ? path.section('.', 0, 0) : QString();
    if (!groups.contains(group)) {
      auto* box = new QWidget(content);
      auto* inside = new QVBoxLayout(box);
      inside->setContentsMargins(0, 0, 0, Theme::kMedium);
      auto* title = new QLabel(group.isEmpty() ? tr("session") : group, box);
      title->setFont(Theme::current()->smallStrong);
      inside->addWidget(title);
      auto* form = new QFormLayout;
      form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
      inside->addLayout(form);
      groupsBox->addWidget(box);
      groups[group] = form;
    }
    addField(key, groups[group], choicesOf(key, models));
  }
  groupsBox->addStretch(1);
}

SessionForm::~SessionForm() = default;

void SessionForm::addField(const ManifestKey& key, QFormLayout* group, const QStringList& choices) {
  auto field = std::make_unique<Field>();
  Field* one = field.get();
  one->key = QString::fromStdString(key.key);
  one->type = key.type;
  one->group = group;
  one->words = (one->key + ' ' + QString::fromStdString(key.meaning)).toLower();
  const QString otherwise =
      key.otherwise.is_null() || key.otherwise == "" ? tr("default") : manifestText(key.otherwise);
  const bool open = key.key == "model" || key.type == "layout" || key.type == "policy" ||
      std::any_of(choices.begin(), choices.end(), [](const QString& word) { return word.startsWith('{'); });
  if (!choices.isEmpty() || open) {
    one->choice = new QComboBox(this);
    one->choice->setEditable(open);
    if (!open) one->choice->addItem(otherwise == tr("default") ? otherwise : tr("default: %1").arg(otherwise));
    one->choice->addItems(choices);
    if (open) {
      one->choice->setCurrentIndex(-1);
      one->choice->lineEdit()->setPlaceholderText(otherwise);
    }
    one->choice->setFocusPolicy(Qt::StrongFocus);
    one->choice->installEventFilter(this);
    one->choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    connect(one->choice, &QComboBox::currentTextChanged, this, [this, one] { tell(*one); });
  } else {
    one->line = new QLineEdit(this);
    one->line->setPlaceholderText(otherwise);
    connect(one->line, &QLineEdit::textEdited, this, [this, one] { tell(*one); });
  }
  one->control()->setAccessibleName(one->key);
  one->control()->setToolTip(
      tr("%1\n%2 (%3)").arg(QString::fromStdString(key.meaning), one->key, QString::fromStdString(key.type)));
  one->label = new QLabel(one->key.contains('.') ? one->key.section('.', 1) : one->key, this);
  one->label->setToolTip(one->control()->toolTip());
  one->label->setBuddy(one->control());
  group->addRow(one->label, one->control());
  m_fields.push_back(std::move(field));
}

void SessionForm::tell(Field& field) {
  if (m_showing) return;
  field.dress(false);
  emit edited(field.key, valueOf(field.text(), field.type));
}

void SessionForm::setManifest(const json& manifest) {
  m_showing = true;
  for (const auto& field : m_fields) {
    const json value = manifestValue(manifest, field->key);
    // A text that means the same stays: "0." is on the way to "0.5".
    if (valueOf(field->text(), field->type) != value || value.is_null()) field->setText(manifestText(value));
    field->dress(false);
  }
  m_showing = false;
}

void SessionForm::mark(const QString& key) {
  for (const auto& field : m_fields) {
    const bool wrong = !key.isEmpty() && (key == field->key || key.startsWith(field->key + '['));
    field->dress(wrong);
    if (wrong && key != m_marked) m_scroll->ensureWidgetVisible(field->control());
  }
  if (!key.isEmpty()) m_marked = key;
}

/// The wheel scrolls the form and changes no value on its way; Return in the search opens no session.
bool SessionForm::eventFilter(QObject* watched, QEvent* event) {
  const auto* widget = qobject_cast<QWidget*>(watched);
  if (event->type() == QEvent::Wheel && widget && !widget->hasFocus()) {
    event->ignore();
    return true;
  }
  if (event->type() != QEvent::KeyPress || watched->objectName() != "search") return false;
  const int key = static_cast<QKeyEvent*>(event)->key();
  return key == Qt::Key_Return || key == Qt::Key_Enter;
}

QStringList SessionForm::keys() const {
  QStringList out;
  for (const auto& field : m_fields) out << field->key;
  return out;
}

QWidget* SessionForm::control(const QString& key) const {
  for (const auto& field : m_fields)
    if (field->key == key) return field->control();
  return nullptr;
}

void SessionForm::search(const QString& text) {
  QHash<QFormLayout*, bool> shown;
  for (const auto& field : m_fields) {
    bool fits = true;
    for (const QString& word : text.toLower().split(' ', Qt::SkipEmptyParts))
      fits = fits && field->words.contains(word);
    field->group->setRowVisible(field->control(), fits);
    shown[field->group] = shown.value(field->group) || fits;
  }
  for (auto group = shown.begin(); group != shown.end(); ++group)
    group.key()->parentWidget()->setVisible(group.value());
}

}  // namespace kvlab
