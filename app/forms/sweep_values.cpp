// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/sweep_values.h"

#include <QStringList>

#include "core/api/read_json.h"

namespace kvlab {

using nlohmann::json;

namespace {

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
