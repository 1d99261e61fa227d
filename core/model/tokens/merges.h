// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding of one piece (Sennrich et al. 2016), without dropout: the "model" of a tokenizer.json, or the
// lists of a GGUF file, whose merges may follow from the scores of its tokens. Immutable; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/model/files/json_fields.h"

namespace kvlab::bpe {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
/// Ids by token, found by a view.
using Vocabulary = std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>>;

class BpeModel {
 public:
  /// Ids from 0 below this.
  static constexpr std::int32_t kMaxId = 1 << 24;

  static Result<BpeModel> fromJson(const JsonFields& model);

  /// Settings beside the tokens of a file in which a token's place is its id.
  struct Options {
    std::optional<std::int32_t> unknown = {};  // below the number of tokens
    bool byteFallback = false, fuseUnknown = false, ignoreMerges = false;
  };
  /// Without merges. Nothing, and the reason, where tokens are empty, stand twice or are more than kMaxId.
  static std::optional<BpeModel> fromTokens(std::span<const std::string> tokens, const Options& options,
                                            std::string& why);
  /// The next merge in rank. False if the two, or the token that they make, are not in the vocabulary.
  bool addMerge(std::string_view left, std::string_view right);

  /// Appends the ids of a UTF-8 piece: from its characters, the pair of lowest rank joined first,
  /// the leftmost among equals. A character that is not in the vocabulary becomes its bytes, the
  /// unknown token, or nothing, as the file says.
  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const;

  std::optional<std::int32_t> id(std::string_view token) const;
  const Vocabulary& vocabulary() const { return m_ids; }

 private:
  struct Merge {
    std::uint32_t rank;
    std::int32_t id;  // id of the joined token
  };
  struct Symbol;

  Status readVocabulary(const JsonFields& model);
  Status readMerges(const JsonFields& model);
  Status readMerge(const JsonFields& model, std::size_t rank, std::string_view left, std::string_view right);
  void findBytes();
  std::vector<Symbol> symbols(std::string_view piece) const;
  bool appendBytes(std::string_view character, std::vector<std::int32_t>& out) const;
  std::string decorated(std::string_view piece, std::size_t begin, std::size_t end) const;
  const Merge* merge(std::int32_t left, std::int32_t right) const;
  void mergeAll(std::vector<Symbol>& symbols) const;

  Vocabulary m_ids;
  std::unordered_map<std::uint64_t, Merge> m_merges;  // by left id << 32 | right id
  std::optional<std::int32_t> m_unknown;
  std::string m_prefix, m_suffix;     // marks of characters that continue / end a piece
  std::vector<std::int32_t> m_bytes;  // [256] ids of <0x00>.., -1 = none; empty = no byte fallback
  bool m_fuseUnknown = false, m_ignoreMerges = false;
  std::uint32_t m_nextRank = 0;
};

// The merges that a SentencePiece vocabulary implies: a token may be made of any two that it can be cut into, the token
// of the highest score first. Tokens of the user come before all others, as SentencePiece finds them first. Values; any
// thread.

struct ScoredTokens {
  std::span<const std::string> tokens;  // [size]
  std::span<const float> scores;        // [size], finite
  std::vector<bool> joins;              // [size] whether merges may make the token or take it
  std::vector<bool> first;              // [size] tokens of the user
};

/// Adds them to a model of the same tokens. False where the tokens are so long that it would take too much work.
bool addScoreMerges(const ScoredTokens& in, BpeModel& model);

}  // namespace kvlab::bpe
