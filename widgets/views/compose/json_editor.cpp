// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/compose/json_editor.h"

#include <QRegularExpression>
#include <QStringList>
#include <QSyntaxHighlighter>
#include <algorithm>

#include "widgets/base/panes.h"
#include "widgets/base/theme.h"

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

class JsonHighlighter : public QSyntaxHighlighter {
 public:
  using QSyntaxHighlighter::QSyntaxHighlighter;

 protected:
  void highlightBlock(const QString& text) override {
    static const QRegularExpression kWords(QStringLiteral(
        R"((?<key>"(?:[^"\\]|\\.)*")(?=\s*:)|(?<string>"(?:[^"\\]|\\.)*")|(?<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?<word>true|false|null)|(?<sign>[\[\]{},:]))"));
    const auto theme = Theme::current();
    auto matches = kWords.globalMatch(text);
    while (matches.hasNext()) {
      const auto match = matches.next();
      QColor colour = theme->faint;
      if (match.hasCaptured(u"key")) colour = theme->muted;
      else if (match.hasCaptured(u"string")) colour = seriesColour(2, theme->dark);
      else if (match.hasCaptured(u"number")) colour = theme->accent;
      else if (match.hasCaptured(u"word")) colour = seriesColour(1, theme->dark);
      setFormat(static_cast<int>(match.capturedStart()), static_cast<int>(match.capturedLength()), colour);
    }
  }
};
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

JsonEditor::JsonEditor(QWidget* parent) : QPlainTextEdit(parent), m_highlighter(new JsonHighlighter(document())) {
  setTabChangesFocus(true);
  settleBars(this);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  document()->setDocumentMargin(Theme::kMedium);
  follow();
}

void JsonEditor::replaceText(const QString& text) {
  QTextCursor cursor(document());
  cursor.select(QTextCursor::Document);
  cursor.insertText(text);
  moveCursor(QTextCursor::End);
}

void JsonEditor::mark(std::optional<TextSpan> wrong, std::optional<TextSpan> chosen) {
  const auto theme = Theme::current();
  QList<QTextEdit::ExtraSelection> marks;
  const auto add = [&](const TextSpan& span, const QTextCharFormat& format) {
    QTextEdit::ExtraSelection one;
    one.cursor = QTextCursor(document());
    one.cursor.setPosition(std::clamp(span.begin, 0, static_cast<int>(toPlainText().size())));
    one.cursor.setPosition(std::clamp(span.begin + span.length, 0, static_cast<int>(toPlainText().size())),
                           QTextCursor::KeepAnchor);
    one.format = format;
    marks.append(one);
  };
  QTextCharFormat picked, bad;
  picked.setBackground(theme->selection);
  bad.setBackground(Theme::mix(theme->surface, theme->error, 0.18));
  bad.setUnderlineStyle(QTextCharFormat::WaveUnderline);
  bad.setUnderlineColor(theme->error);
  if (chosen) add(*chosen, picked);
  if (wrong) add(*wrong, bad);
  setExtraSelections(marks);
}

void JsonEditor::follow() {
  setFont(Theme::current()->mono);
  m_highlighter->rehighlight();
}

}  // namespace kvlab
