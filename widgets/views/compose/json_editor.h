// SPDX-License-Identifier: GPL-3.0-or-later
// A small JSON editor with syntax colours. A wrong range is underlined and tinted; a range that is selected elsewhere
// is tinted. GUI thread.
#pragma once
#include <QPlainTextEdit>
#include <optional>

#include "widgets/views/compose/draft.h"

class QSyntaxHighlighter;

namespace kvlab {

class JsonEditor : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit JsonEditor(QWidget* parent);
  /// Replaces the text in one step for Ctrl+Z.
  void replaceText(const QString& text);
  void mark(std::optional<TextSpan> wrong, std::optional<TextSpan> chosen);
  void follow();  // takes the colours of the theme in use

 private:
  QSyntaxHighlighter* m_highlighter;
};

}  // namespace kvlab
