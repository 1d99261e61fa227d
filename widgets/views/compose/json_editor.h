// SPDX-License-Identifier: GPL-3.0-or-later
// A small JSON editor: colours by kind of word, the stretch that is wrong underlined and tinted, the
// stretch that is selected elsewhere tinted. GUI thread.
#pragma once
#include <QPlainTextEdit>
#include <QSyntaxHighlighter>
#include <optional>

#include "widgets/views/compose/draft.h"

namespace kvlab {

class JsonHighlighter : public QSyntaxHighlighter {
  Q_OBJECT
 public:
  using QSyntaxHighlighter::QSyntaxHighlighter;

 protected:
  void highlightBlock(const QString& text) override;
};

class JsonEditor : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit JsonEditor(QWidget* parent);
  /// Replaces the text in one step that Ctrl+Z takes back.
  void replaceText(const QString& text);
  void mark(std::optional<TextSpan> wrong, std::optional<TextSpan> chosen);
  void follow();  // colours of the theme in use

 private:
  JsonHighlighter* m_highlighter;
};

}  // namespace kvlab
