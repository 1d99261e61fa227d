// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/compose/json_editor.h"

#include <QRegularExpression>
#include <QSyntaxHighlighter>

#include "widgets/base/panes.h"
#include "widgets/base/theme.h"

namespace kvlab {

namespace {
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
