// SPDX-License-Identifier: Apache-2.0
// Describes edits in words: the one place for the names in menus, lists and scripts. Engine thread.
#pragma once
#include "core/model/tokens/tokenizer.h"
#include "core/session/timeline.h"

namespace kvlab {

/// A command's change of the state before it, in words: "replace “·cellar” → “·attic”". Empty if it only generates.
std::string wordsOf(const std::string& verb, const nlohmann::json& args, const CacheState& before,
                    const Tokenizer& tokenizer);

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
