// SPDX-License-Identifier: Apache-2.0
// Text to token ids and back. Implementations: SentencePiece models, tokenizer.json (byte-level and character BPE), and
// a synthesised vocabulary for models that come without one; and the tokens that a model has no row for. Immutable; any
// thread.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/model/files/config.h"

namespace kvlab {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Ids of UTF-8 text; addSpecial adds the tokens that the model expects around a text (beginning-of-text).
  /// Errors (code bad_text): invalid UTF-8, a text that this vocabulary cannot write.
  virtual Result<std::vector<TokenId>> encode(std::string_view text, bool addSpecial) const = 0;
  /// The text of ids; special tokens are written out unless skipSpecial. Ids outside the vocabulary
  /// give nothing. Bytes that are not UTF-8 become U+FFFD.
  virtual std::string decode(std::span<const TokenId> ids, bool skipSpecial = false) const = 0;
  /// One token as shown to people: its text with spaces as they are, control characters escaped,
  /// lone bytes as <0x0A>; empty outside the vocabulary.
  virtual std::string tokenText(TokenId id) const = 0;
  virtual bool isSpecial(TokenId id) const = 0;
  /// One past the largest id; may differ from the model's vocab, which is often padded.
  virtual std::int32_t size() const = 0;
  virtual TokenId bos() const = 0;               // -1 = none
  virtual std::vector<TokenId> eos() const = 0;  // may be empty
};

/// tokenizer.json or tokenizer.model of a directory; where there is neither, a synthesised
/// vocabulary. Errors: bad_tokenizer.
Result<std::shared_ptr<const Tokenizer>> openTokenizer(const std::string& directory, const ModelConfig& config);

/// Every byte is a token (ids 0..255), the rest are made-up words; decode(encode(text)) == text.
std::shared_ptr<const Tokenizer> makeSyntheticTokenizer(const ModelConfig& config);

/// Text as tokenText shows it: control characters escaped, invalid bytes as <0xE4>.
std::string shownText(std::string_view text);

// Tokens that a tokenizer has and the model's embedding does not: tokens were added, and the embedding was not resized.
// Any thread.

/// Error bad_token, with the token's text, for the first id without a row. rows: number of rows of the embedding.
Status checkRows(const Tokenizer& tokenizer, std::span<const TokenId> ids, std::int32_t rows);
/// "401 (<|im_end|>), 402 (..) and 3 more"; empty where every token has a row.
std::string tokensWithoutRow(const Tokenizer& tokenizer, std::int32_t rows);

}  // namespace kvlab
