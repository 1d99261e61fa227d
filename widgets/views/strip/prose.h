// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens as running text: spaces and line breaks as they are, words whole, each piece of two control tokens on a line
// of its own. Values; GUI thread, which has the fonts.
#pragma once
#include <QFontMetrics>
#include <QString>
#include <functional>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

/// A token as a piece of running text.
struct ProseToken {
  QString text;          // without line breaks
  int width = -1;        // pixels; -1 = not known yet
  int lead = 0;          // pixels of the space that it begins with
  int breaks = 0;        // line breaks behind it, at most 2
  bool joins = false;    // goes on with the word before it
  bool control = false;  // a special token: a turn's begin or end
};

/// The pieces of one vocabulary, each made when it is first asked for.
class ProseTokens {
 public:
  void forget() { m_tokens.clear(); }
  const ProseToken& of(const SessionInfo& info, TokenId token, const QFontMetrics& text, const QFontMetrics& control);

 private:
  std::vector<ProseToken> m_tokens;  // by token id
};

ProseToken proseToken(const QString& text, bool control, const QFontMetrics& metrics);

/// The place of a token in a text of lines.
struct TokenPlace {
  int x = 0, line = 0, width = 0;
};
struct TokenLines {
  std::vector<TokenPlace> places;                                  // by token
  std::vector<std::int32_t> first = std::vector<std::int32_t>(1);  // first token of each line; an empty line has none
};
/// Breaks lines between words, within a word that is wider than a line. left, right: pixels.
TokenLines proseLines(int count, const std::function<const ProseToken&(int)>& token, int left, int right);

}  // namespace kvlab
