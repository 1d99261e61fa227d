// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/compose/draft.h"

#include <QStringList>
#include <algorithm>

namespace kvlab {
namespace {
using nlohmann::json;

/// Elements of the outermost list of valid JSON, found by counting brackets outside strings.
std::vector<TextSpan> elementSpans(const QString& text) {
  std::vector<TextSpan> spans;
  int depth = 0, begin = -1, last = -1;
  bool quoted = false;
  const auto close = [&] {
    if (begin >= 0) spans.push_back({begin, last - begin + 1});
    begin = -1;
  };
  for (int i = 0; i < text.size(); ++i) {
    const QChar c = text[i];
    const bool opens = !quoted && (c == u'[' || c == u'{');
    const bool closes = !quoted && (c == u']' || c == u'}');
    if (closes && --depth == 0) close();
    if (!quoted && depth == 1 && c == u',') close();
    else if (depth >= 1 && !c.isSpace() && !(closes && depth == 0)) {
      if (begin < 0) begin = i;
      last = i;
    }
    if (opens) ++depth;
    if (quoted && c == u'\\') last = ++i;
    else if (c == u'"') quoted = !quoted;
  }
  return spans;
}

int utf16Offset(const std::string& utf8, std::size_t bytes) {
  return static_cast<int>(QString::fromUtf8(utf8.data(), static_cast<qsizetype>(std::min(bytes, utf8.size()))).size());
}

DraftCheck syntaxProblem(const QString& text, const std::string& utf8, const json::parse_error& error) {
  DraftCheck check;
  const std::size_t byte = error.byte > 0 ? error.byte - 1 : 0;
  check.offset = std::min(utf16Offset(utf8, byte), static_cast<int>(text.size()));
  const QString before = text.left(*check.offset);
  const auto line = before.count(u'\n') + 1;
  const auto column = *check.offset - before.lastIndexOf(u'\n');
  const bool atEnd = byte >= utf8.size();
  check.problem = atEnd
      ? QStringLiteral("line %1: the text ends before the list does; close it with ]").arg(line)
      : QStringLiteral("line %1, column %2: not JSON; expected a value, a comma or a bracket").arg(line).arg(column);
  return check;
}
}  // namespace

DraftCheck checkDraft(const QString& text) {
  DraftCheck check;
  if (text.trimmed().isEmpty()) return check;
  const std::string utf8 = text.toStdString();
  try {
    check.list = json::parse(utf8);
  } catch (const json::parse_error& error) {
    return syntaxProblem(text, utf8, error);
  }
  if (check.list.is_array()) check.spans = elementSpans(text);
  Result<std::vector<Action>> actions = actionsFromJson(check.list);
  if (actions) {
    check.actions = actions.take();
    return check;
  }
  check.problem = QString::fromStdString(actions.error().text());
  check.place = actions.error().action;
  return check;
}

QString draftText(const json& list) {
  if (!list.is_array() || list.empty()) return {};
  QStringList lines;
  for (const json& element : list) lines << QStringLiteral("  ") + QString::fromStdString(element.dump());
  return QStringLiteral("[\n") + lines.join(QStringLiteral(",\n")) + QStringLiteral("\n]");
}

QString appended(const QString& text, const Action& action) {
  DraftCheck check = checkDraft(text);
  if (check.list.is_null() && check.problem.isEmpty()) check.list = json::array();
  if (!check.list.is_array()) return text;
  check.list.push_back(toJson(action));
  return draftText(check.list);
}

json listOf(const std::vector<Action>& actions) {
  json list = json::array();
  for (const Action& action : actions) list.push_back(toJson(action));
  return list;
}

}  // namespace kvlab
