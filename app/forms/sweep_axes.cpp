// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/sweep_axes.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QScopedValueRollback>
#include <QStringList>

#include "app/base/manifest_path.h"
#include "core/api/manifest_list.h"
#include "core/api/read_json.h"
#include "widgets/base/button_use.h"
#include "widgets/base/theme.h"

namespace kvlab {

using nlohmann::json;

namespace {

const QString kRatio = QStringLiteral("budget as ratio"), kTokens = QStringLiteral("budget in tokens");

QStringList axisKeys() {
  QStringList out{kRatio, kTokens};
  for (const ManifestKey& key : manifestKeys())
    if (key.key.find("[]") == std::string::npos && key.key != "model" && !key.key.starts_with("policy."))
      out << QString::fromStdString(key.key);
  return out;
}

/// The next functions read typed JSON, which may have any shape.

/// An axis that the line cannot edit.
bool isList(const json& axis) { return member(axis, "key").is_null() && member(axis, "budget").is_null(); }

QString keyText(const json& axis) {
  if (isList(axis)) return manifestText(member(axis, "name"));
  if (axis.contains("budget")) return axis["budget"] == "tokens" ? kTokens : kRatio;
  return manifestText(axis["key"]);
}

QString textOfAxis(const json& axis) {
  const json values = member(axis, "values");
  if (!isList(axis)) return valuesText(values);
  QStringList labels;
  if (values.is_array())
    for (const json& value : values) labels << manifestText(member(value, "label"));
  return labels.join(", ");
}

QStringList parts(const QString& text) {
  QStringList out{QString()};
  int depth = 0;
  bool quoted = false, escaped = false;
  for (const QChar c : text) {
    if (c == '"' && !escaped) quoted = !quoted;
    escaped = quoted && c == '\\' && !escaped;
    if (!quoted && (c == '{' || c == '[')) ++depth;
    if (!quoted && (c == '}' || c == ']')) --depth;
    if (c == ',' && !quoted && depth == 0) out << QString();
    else out.last() += c;
  }
  return out;
}

/// A text that would be read as something else, or parted, stands in quotes.
QString valueText(const json& value) {
  if (!value.is_string()) return QString::fromStdString(value.dump());
  const QString text = QString::fromStdString(jsonOr(value, std::string()));
  return valuesOf(text) == json::array({value}) ? text : QString::fromStdString(value.dump());
}

}  // namespace

SweepAxes::SweepAxes(QWidget* parent) : QWidget(parent), m_column(new QVBoxLayout) {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->addLayout(m_column);
  auto* add = pushButton(tr("Add Axis"), tr("Vary another setting"), this);
  add->setAutoDefault(false);
  connect(add, &QPushButton::clicked, this, &SweepAxes::add);
  all->addWidget(add, 0, Qt::AlignLeft);
}

void SweepAxes::addLine() {
  const std::size_t place = m_lines.size();
  Line line{new QWidget(this), nullptr, nullptr};
  line.key = new QComboBox(line.box);
  line.key->setEditable(true);
  line.key->addItems(axisKeys());
  line.key->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  line.key->setObjectName(QString("key_%1").arg(place));
  line.key->setAccessibleName(tr("What axis %1 varies").arg(place + 1));
  line.key->setToolTip(tr("A key of the manifest, or the budget of the policy"));
  line.values = new QLineEdit(line.box);
  line.values->setObjectName(QString("values_%1").arg(place));
  line.values->setAccessibleName(tr("Values of axis %1").arg(place + 1));
  line.values->setPlaceholderText(tr("values, with commas between them"));
  auto* remove = pushButton(tr("Remove"), tr("Take this axis out"), line.box);
  remove->setAutoDefault(false);
  auto* row = new QHBoxLayout(line.box);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(Theme::kTight);
  row->addWidget(line.key, 2);
  row->addWidget(line.values, 3);
  row->addWidget(remove);
  connect(line.key, &QComboBox::currentTextChanged, this, [this, place] { take(place); });
  connect(line.values, &QLineEdit::textEdited, this, [this, place] { take(place); });
  connect(remove, &QPushButton::clicked, this, [this, place] { this->remove(place); });
  m_column->addWidget(line.box);
  m_lines.push_back(line);
}

void SweepAxes::fill(const Line& line, const json& axis) {
  const bool list = isList(axis);
  line.key->setEnabled(!list);
  line.values->setEnabled(!list);
  if (line.key->currentText() != keyText(axis)) line.key->setEditText(keyText(axis));
  if (list || valuesOf(line.values->text()) != member(axis, "values")) line.values->setText(textOfAxis(axis));
  line.values->setToolTip(list ? tr("Each value of this axis is a list of changes, which the JSON shows")
                               : tr("Numbers, words or JSON, with commas between them: 64, 128"));
}

void SweepAxes::show(const json& axes) {
  const QScopedValueRollback showing(m_showing, true);
  m_axes = axes.is_array() ? axes : json::array();
  while (m_lines.size() < m_axes.size()) addLine();
  for (std::size_t i = 0; i < m_lines.size(); ++i) {
    m_lines[i].box->setVisible(i < m_axes.size());
    if (i < m_axes.size()) fill(m_lines[i], m_axes[i]);
  }
}

void SweepAxes::take(std::size_t place) {
  if (m_showing) return;
  const QString key = m_lines[place].key->currentText();
  json axis{{"values", valuesOf(m_lines[place].values->text())}};
  if (key == kRatio || key == kTokens)
    axis.update({{"name", "budget"}, {"budget", key == kRatio ? "ratio" : "tokens"}});
  else axis.update({{"name", key.toStdString()}, {"key", key.toStdString()}});
  m_axes[place] = axis;
  emit edited();
}

void SweepAxes::add() {
  json axes = m_axes;
  axes.push_back({{"name", ""}, {"key", ""}, {"values", json::array()}});
  show(axes);
  m_lines[m_axes.size() - 1].key->setFocus();
  emit edited();
}

void SweepAxes::remove(std::size_t place) {
  json axes = m_axes;
  axes.erase(place);
  show(axes);
  emit edited();
}

json valuesOf(const QString& text) {
  json out = json::array();
  for (const QString& part : parts(text)) {
    const std::string word = part.trimmed().toStdString();
    if (word.empty()) continue;
    const json read = json::parse(word, nullptr, false);
    out.push_back(read.is_discarded() ? json(word) : read);
  }
  return out;
}

QString valuesText(const json& values) {
  QStringList out;
  if (values.is_array())
    for (const json& value : values) out << valueText(value);
  return out.join(", ");
}

}  // namespace kvlab
