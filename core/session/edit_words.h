// SPDX-License-Identifier: Apache-2.0
// Describes edits in words: the one place for the names in menus, lists and scripts. Engine thread.
#pragma once
#include "core/model/tokens/tokenizer.h"
#include "core/session/timeline.h"

namespace kvlab {

/// Words for parts of an edit, with the tokens of the state before it.
class EditWords {
 public:
  EditWords(const CacheState& before, const Tokenizer& tokenizer) : m_before(before), m_tokenizer(tokenizer) {}

  /// "“·cellar”", or "row 12" where the ledger does not have the row that an argument names.
  std::string row(const nlohmann::json& args, const char* key) const;
  std::string row(LedgerId id) const;
  std::string of(const Action& action) const;

 private:
  std::string text(const std::vector<TokenId>& ids) const;
  std::string at(const std::vector<Position>& places) const;

  const CacheState& m_before;
  const Tokenizer& m_tokenizer;
};

/// The text of an argument in quotes, shortened; "" where it is missing.
std::string quotedText(const nlohmann::json& text);
/// "3 tokens": of a list.
std::string tokenCount(const nlohmann::json& ids);

/// A command's change of the state before it, in words: "replace “·cellar” → “·attic”". The words come from its verb,
/// else from the actions that were pending, else from the verb's name; empty if the command only generates.
std::string wordsOf(const CommandKind& kind, const std::string& verb, const nlohmann::json& args,
                    const CacheState& before, const Tokenizer& tokenizer);

/// An edit of the timeline.
struct Edit {
  std::string title;  // "prompt “where is …”", "12 ticks"
  int last = 0;       // its last entry
};
/// The edit that ends at an entry, or the part of it up to there.
std::string editTitle(const Timeline& timeline, int last);
/// The edits that undo and redo step over, nearest first.
std::vector<Edit> editsBack(const Timeline& timeline, std::size_t most);
std::vector<Edit> editsAhead(const Timeline& timeline, std::size_t most);

}  // namespace kvlab
