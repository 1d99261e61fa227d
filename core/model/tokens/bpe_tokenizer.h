// SPDX-License-Identifier: Apache-2.0
// A BPE tokenizer from its parts, whichever file they stand in: added tokens, normaliser, pre-tokeniser, BPE, decoder,
// in that order, with the behaviour of the tokenizers library. Any thread.
#pragma once
#include <memory>
#include <vector>

#include "core/model/tokens/added_tokens.h"
#include "core/model/tokens/merges.h"
#include "core/model/tokens/steps.h"
#include "core/model/tokens/tokenizer.h"

namespace kvlab::bpe {

struct Parts {
  BpeModel model = {};
  std::vector<AddedToken> added = {};
  Normaliser normaliser = {};  // empty = none, as the next two
  PreTokeniser preTokeniser = {};
  Decoder decoder = {};
  Surround surround = {};
  bool byteLevel = false;  // tokens are bytes in disguise
  TokenId bos{-1};         // -1 = none
  std::vector<TokenId> eos = {};
};

/// `file` names the source in errors. Errors: bad_tokenizer.
Result<std::shared_ptr<const Tokenizer>> tokenizerOf(Parts parts, const std::string& file);

}  // namespace kvlab::bpe
