// SPDX-License-Identifier: Apache-2.0
// Cuts a text file into the windows of tokens that training runs a model over. A file whose name ends with .json is a
// list of texts, each a string or an object with a string `text`; every other file is one text. No window goes over the
// end of a text. Each window begins with the token that the tokenizer puts before a text, if any. Any thread.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/model/tokens/tokenizer.h"

namespace kvlab {

struct TrainingText {
  std::vector<std::vector<TokenId>> windows;  // at least two, of at least kLeastWindow tokens
  std::int64_t tokens = 0;                    // tokens of the whole file
  std::string hash;                           // hash of the file's bytes
};

constexpr int kLeastWindow = 64;

/// Windows of at most `window` tokens, spread evenly over the file, with about `rows` tokens in all. Errors:
/// unreadable_file, bad_text, short_text (says how many tokens are needed).
Result<TrainingText> trainingText(const Tokenizer& tokenizer, const std::string& path, int window, std::int64_t rows);

}  // namespace kvlab
