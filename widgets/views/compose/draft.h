// SPDX-License-Identifier: GPL-3.0-or-later
// An action list being written: JSON text, checked as it is typed, with the stretch of text of each
// action so that an error can be shown where it is. Pure functions; any thread.
#pragma once
#include <QString>
#include <optional>
#include <vector>

#include "core/api/action.h"

namespace kvlab {

struct TextSpan {
  int begin = 0, length = 0;  // UTF-16 units
};

struct DraftCheck {
  std::vector<Action> actions = {};  // empty unless the whole text is an action list
  nlohmann::json list = {};          // the parsed text, if it parses
  std::vector<TextSpan> spans = {};  // of each element of the list
  QString problem = {};              // empty = in order
  std::optional<int> place = {};     // offending action
  std::optional<int> offset = {};    // of a syntax error, UTF-16 units
  bool empty() const { return problem.isEmpty() && actions.empty(); }
  bool ok() const { return problem.isEmpty() && !actions.empty(); }
};

/// Blank text is an empty list and no problem.
DraftCheck checkDraft(const QString& text);
/// One action per line, as people would write it.
QString draftText(const nlohmann::json& list);
/// The text with `action` at its end; a text that is no list is returned unchanged.
QString appended(const QString& text, const Action& action);
/// The text without the element at `place`.
QString without(const QString& text, int place);

}  // namespace kvlab
