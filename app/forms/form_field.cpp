// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/form_field.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QToolButton>
#include <algorithm>
#include <utility>

#include "app/base/ask_path.h"
#include "app/base/icons.h"
#include "app/base/manifest_path.h"
#include "core/api/manifest_list.h"
#include "widgets/base/theme.h"

namespace kvlab {

using nlohmann::json;

namespace {

constexpr int kLabel = 17;         // letters that a label has room for
constexpr const char* kOn = "on";  // an object that stands for a part of the engine: {} has the defaults

bool isSwitch(const std::string& type) { return type == "object"; }

/// Keys that may name a file, and the files to look for.
struct PathKey {
  const char *key, *filter;
};
constexpr std::pair<const char*, const char*> kWords[] = {
    {"dtype", "Data type"}, {"k", "Keys (K)"},     {"v", "Values (V)"}, {"kv", "Storage types"},
    {"w", "Near (w)"},      {"w2", "Middle (w2)"}, {"by", "Score"},     {"wlod", "wLOD"}};

constexpr PathKey kPaths[] = {{"model", "Models (*.gguf)"},
                              {"policy.record", "Records (*)"},
                              {"policy.gates", "Gates (*.safetensors)"},
                              {"wlod.gist", "Networks (*.safetensors)"},
                              {"wlod.lens", "Networks and weights (*.safetensors *.json)"}};

const PathKey* pathKey(const QString& key) {
  const auto found =
      std::find_if(std::begin(kPaths), std::end(kPaths), [&](const PathKey& one) { return key == one.key; });
  return found == std::end(kPaths) ? nullptr : found;
}

QToolButton* smallButton(const QString& text, const QString& name, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setText(text);
  button->setAutoRaise(true);
  button->setFocusPolicy(Qt::TabFocus);
  button->setAccessibleName(name);
  button->setToolTip(name);
  return button;
}

}  // namespace

QString wordsOfKey(const QString& key) {
  const QString last = key.section('.', -1);
  for (const auto& [name, words] : kWords)
    if (last == name) return words;
  QString words = QString(last).replace('_', ' ');
  if (!words.isEmpty()) words[0] = words[0].toUpper();
  return words;
}

json valueOf(const QString& text, const std::string& type) {
  if (text.trimmed().isEmpty()) return {};
  if (isSwitch(type)) return text == kOn ? json::object() : json(text.toStdString());
  const json parsed = json::parse(text.toStdString(), nullptr, false);
  const bool plain = type.starts_with("text") || type.starts_with("one of") || type == "layout" || type == "policy";
  if (type == "text or integer" && parsed.is_number_integer()) return parsed;
  if (type.starts_with("one of") && parsed.is_object()) return parsed;
  return plain || parsed.is_discarded() ? json(text.toStdString()) : parsed;
}

FormField::FormField(const ManifestKey& key, const QStringList& choices, bool open, QWidget* parent)
    : QWidget(parent),
      m_key(QString::fromStdString(key.key)),
      m_meaning(QString::fromStdString(key.meaning)),
      m_type(key.type),
      m_label(new QLabel(wordsOfKey(m_key), parent)),
      m_reset(smallButton({}, tr("%1: back to the default").arg(m_key), this)) {
  m_otherwise = key.otherwise.is_null() || key.otherwise == "" ? tr("default") : manifestText(key.otherwise);
  if (isSwitch(m_type)) m_otherwise = tr("off");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(Theme::kTight);
  if (!choices.isEmpty() || open || isSwitch(m_type)) {
    makeChoice(isSwitch(m_type) ? QStringList{kOn} : choices, open);
  } else {
    m_line = new QLineEdit(this);
    m_line->setPlaceholderText(m_otherwise);
    connect(m_line, &QLineEdit::textEdited, this, &FormField::tell);
  }
  row->addWidget(control(), 1);
  if (pathKey(m_key)) addBrowse();
  QSizePolicy room = m_reset->sizePolicy();
  room.setRetainSizeWhenHidden(true);
  m_reset->setSizePolicy(room);
  row->addWidget(m_reset);
  connect(m_reset, &QToolButton::clicked, this, [this] {
    setText({});
    control()->setFocus();
    dress(false);
    emit edited();
  });
  control()->setAccessibleName(m_key);
  m_label->setBuddy(control());
  m_label->setMinimumWidth(m_label->fontMetrics().horizontalAdvance(QString(kLabel, 'x')));  // groups line up
  refreshIcon();
  refreshTip();
  dress(false);
}

void FormField::makeChoice(const QStringList& choices, bool open) {
  m_choice = new QComboBox(this);
  m_choice->setEditable(open);
  if (!open) m_choice->addItem(defaultWords());
  m_choice->addItems(choices);
  if (open) {
    m_choice->setCurrentIndex(-1);
    m_choice->lineEdit()->setPlaceholderText(m_otherwise);
  }
  m_choice->setFocusPolicy(Qt::StrongFocus);
  m_choice->installEventFilter(this);
  m_choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  connect(m_choice, &QComboBox::currentTextChanged, this, &FormField::tell);
}

/// A model may be a folder or a file; all other paths are files.
void FormField::addBrowse() {
  m_browse = smallButton("…", tr("%1: look for a file").arg(m_key), this);
  layout()->addWidget(m_browse);
  if (m_key != "model") {
    connect(m_browse, &QToolButton::clicked, this, [this] { browse(false); });
    return;
  }
  m_browse->setToolTip(tr("model: look for a folder or a file"));
  auto* menu = new QMenu(m_browse);
  menu->addAction(tr("Model Folder…"), this, [this] { browse(true); });
  menu->addAction(tr("Model File (GGUF)…"), this, [this] { browse(false); });
  m_browse->setMenu(menu);
  m_browse->setPopupMode(QToolButton::InstantPopup);
}

void FormField::browse(bool folder) {
  askForPath(this, {tr("Choose %1").arg(m_key), folder ? QString() : QString(pathKey(m_key)->filter)},
             [this](const QString& path) {
               setText(path);
               if (m_line) tell();  // a choice has told it itself
             });
}

QWidget* FormField::control() const { return m_choice ? static_cast<QWidget*>(m_choice) : m_line; }

bool FormField::closed() const { return m_choice && !m_choice->isEditable(); }

QString FormField::text() const {
  if (!m_choice) return m_line->text();
  return closed() && m_choice->currentIndex() == 0 ? QString() : m_choice->currentText();
}

void FormField::setText(const QString& text) {
  if (!m_choice) return m_line->setText(text);
  if (!closed()) return m_choice->setEditText(text);
  const int index = text.isEmpty() ? 0 : m_choice->findText(text);
  if (index < 0) m_choice->addItem(text);  // a wrong value is shown as it is
  m_choice->setCurrentIndex(index < 0 ? m_choice->count() - 1 : index);
}

json FormField::value() const { return valueOf(text(), m_type); }

void FormField::show(const json& value) {
  m_showing = true;
  const bool on = isSwitch(m_type) && value.is_object();
  if (on || (isSwitch(m_type) && value == "off")) setText(on ? kOn : QString());
  else if (this->value() != value || value.is_null()) setText(manifestText(value));
  m_showing = false;
  dress(false);
}

void FormField::tell() {
  if (m_showing) return;
  dress(false);
  emit edited();
}

void FormField::dress(bool wrong) {
  // A font would be lost with the next change of the theme.
  const QString weight = given() ? QStringLiteral("font-weight:600;") : QString();
  m_label->setForegroundRole(idle() || locked() ? QPalette::PlaceholderText : QPalette::WindowText);
  m_label->setStyleSheet((wrong ? "color:" + Theme::current()->error.name() + ";" : QString()) + weight);
  m_reset->setVisible(given() && !locked());
}

void FormField::setOtherwise(const QString& given) {
  const QString text = given.isEmpty() ? m_otherwise : given;
  if (m_line) m_line->setPlaceholderText(text);
  else if (!closed()) m_choice->lineEdit()->setPlaceholderText(text);
  else m_choice->setItemText(0, given.isEmpty() ? defaultWords() : given);
}

QString FormField::defaultWords() const {
  return m_otherwise == tr("default") ? m_otherwise : tr("default: %1").arg(m_otherwise);
}

void FormField::lock(const QString& why) {
  m_locked = why;
  control()->setEnabled(!locked());
  if (m_browse) m_browse->setEnabled(!locked());
  refreshTip();
  dress(false);
}

void FormField::setIdle(const QString& why) {
  if (m_idle == why) return;
  m_idle = why;
  refreshTip();
}

void FormField::refreshTip() {
  QString tip = tr("%1\n%2 (%3)").arg(m_meaning, m_key, QString::fromStdString(m_type));
  if (idle()) tip += '\n' + tr("No effect at present: %1.").arg(m_idle);
  if (locked()) tip += '\n' + tr("%1 %2.").arg(m_key, m_locked);
  control()->setToolTip(tip);
  m_label->setToolTip(tip);
}

bool FormField::matches(const QStringList& words) const {
  const QString all = (m_key + ' ' + wordsOfKey(m_key) + ' ' + m_meaning).toLower();
  return std::all_of(words.begin(), words.end(), [&](const QString& word) { return all.contains(word); });
}

void FormField::refreshIcon() { m_reset->setIcon(themedIcon("undo", Theme::current()->text, Theme::current()->faint)); }

void FormField::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) refreshIcon();
}

/// The wheel scrolls the form and changes no value on its way.
bool FormField::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::Wheel || static_cast<QWidget*>(watched)->hasFocus()) return false;
  event->ignore();
  return true;
}

}  // namespace kvlab
