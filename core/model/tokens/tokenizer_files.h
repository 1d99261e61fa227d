// SPDX-License-Identifier: Apache-2.0
// Makers of the tokenizer implementations. Any thread.
#pragma once
#include <memory>
#include <string>

#include "core/model/tokens/tokenizer.h"

namespace kvlab {

/// What tokenizer_config.json beside a tokenizer adds to it.
struct TokenizerSettings {
  bool addBos = true, addEos = false;  // SentencePiece only; tokenizer.json says it itself
  std::int32_t bos = -1;               // -1 = as the tokenizer has it
  std::vector<std::int32_t> eos = {};
};

/// A SentencePiece model (tokenizer.model). Control symbols have no text: decode leaves them out.
Result<std::shared_ptr<const Tokenizer>> parseSentencePiece(const std::string& bytes, const std::string& file,
                                                            const TokenizerSettings& settings);
/// tokenizer.json of the tokenizers library, model type BPE.
Result<std::shared_ptr<const Tokenizer>> parseTokenizerJson(const std::string& text, const std::string& file,
                                                            const TokenizerSettings& settings);

Error badTokenizer(const std::string& file, const std::string& why,
                   const std::string& remedy = "use an undamaged copy of the file");
Error badText(const std::string& why, const std::string& remedy);

}  // namespace kvlab
