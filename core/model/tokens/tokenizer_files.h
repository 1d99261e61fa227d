// SPDX-License-Identifier: Apache-2.0
// Makers of the tokenizer implementations. Any thread.
#pragma once
#include <memory>
#include <string>

#include "core/model/tokens/token_files.h"
#include "core/model/tokens/tokenizer.h"

namespace kvlab {

/// Settings that the files beside a tokenizer add to it.
struct TokenizerSettings {
  std::int32_t bos = -1;  // id from config.json; -1 = as the tokenizer has it
  std::vector<std::int32_t> eos = {};
  TokenFiles files = {};
};

/// A SentencePiece model (tokenizer.model). Its control symbols and tokens of the user, and all tokens beside it, are
/// found in text.
Result<std::shared_ptr<const Tokenizer>> parseSentencePiece(const std::string& bytes, const std::string& file,
                                                            const TokenizerSettings& settings);
/// tokenizer.json of the tokenizers library, model type BPE.
Result<std::shared_ptr<const Tokenizer>> parseTokenizerJson(const std::string& text, const std::string& file,
                                                            const TokenizerSettings& settings);

Error badTokenizer(const std::string& file, const std::string& why,
                   const std::string& remedy = "use an undamaged copy of the file");
Error badText(const std::string& why, const std::string& remedy);

}  // namespace kvlab
