// SPDX-License-Identifier: GPL-3.0-or-later
// An action list while it is written. The draft: JSON text that is checked on every change, and the text range of each
// action, to show errors there; pure functions, any thread. The editor: small, with syntax colours; a wrong range is
// underlined and tinted, a range that is selected elsewhere is tinted. GUI thread.
#pragma once
#include <QPlainTextEdit>
#include <QString>
#include <optional>
#include <vector>

#include "core/api/action.h"

class QSyntaxHighlighter;

namespace kvlab {

struct TextSpan {
  int begin = 0, length = 0;  // UTF-16 units
};

struct DraftCheck {
  std::vector<Action> actions = {};  // empty if the text is no action list
  nlohmann::json list = {};          // the parsed text; null if it does not parse
  std::vector<TextSpan> spans = {};  // span of each element of the list
  QString problem = {};              // empty = valid
  std::optional<int> place = {};     // index of the wrong action
  std::optional<int> offset = {};    // position of a syntax error, in UTF-16 units
  bool empty() const { return problem.isEmpty() && actions.empty(); }
  bool ok() const { return problem.isEmpty() && !actions.empty(); }
};

/// Blank text is a valid empty list.
DraftCheck checkDraft(const QString& text);
/// One action per line.
QString draftText(const nlohmann::json& list);
/// Appends `action` to the text. A text that is no list is returned unchanged.
QString appended(const QString& text, const Action& action);
/// The actions as a list of JSON.
nlohmann::json listOf(const std::vector<Action>& actions);

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
