// SPDX-License-Identifier: Apache-2.0
// Tokens that are found in the text before anything else: the "added_tokens" of a tokenizer.json.
// Immutable; any thread.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/files/json_fields.h"
#include "core/model/tokens/merges.h"

namespace kvlab::bpe {

struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool singleWord = false, lstrip = false, rstrip = false, normalized = true, special = false;
  bool bothWays = false;  // found before and after normalising
};
Result<AddedToken> addedTokenFromJson(const JsonFields& json);

/// A part of a text: an added token, or the text between two (token null).
struct Part {
  std::size_t begin = 0, end = 0;
  const AddedToken* token = nullptr;
};

/// Finds tokens in text: leftmost first, the longest where several start at one place.
class TokenFinder {
 public:
  /// `as` is the text that stands for the token (its content, or its normalised content). An empty
  /// text is never found. The token must outlive the finder.
  void add(const AddedToken& token, std::string as);
  /// The whole text in order; nothing for an empty text.
  std::vector<Part> find(std::string_view text) const;

 private:
  /// Tokens of one length in bytes.
  struct Group {
    std::size_t length;
    std::unordered_map<std::string, const AddedToken*, TextHash, std::equal_to<>> tokens;
  };
  const AddedToken* longestAt(std::string_view text, std::size_t at, std::size_t& end) const;

  std::array<std::vector<Group>, 256> m_byFirst;  // longest first
};

}  // namespace kvlab::bpe
