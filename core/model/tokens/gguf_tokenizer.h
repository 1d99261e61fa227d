// SPDX-License-Identifier: Apache-2.0
// The tokenizer that a GGUF file carries in its keys "tokenizer.ggml.*". Values; any thread.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/model/tokens/tokenizer.h"

namespace kvlab {

/// The keys by their names behind "tokenizer.ggml."; an absent key has its default.
struct GgufTokenizer {
  std::string model, pre;                // "llama" (SentencePiece), "gpt2" or "gemma4" (BPE); name of gpt2's split rule
  std::vector<std::string> tokens;       // [size]
  std::vector<float> scores = {};        // [size], of SentencePiece
  std::vector<std::int32_t> types = {};  // [size]: 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte
  std::vector<std::string> merges = {};  // "left right", of BPE, most important first
  std::int32_t bos = -1, eos = -1, eot = -1, unknown = -1;
  std::optional<bool> addBos = {}, addEos = {}, addSpacePrefix = {};
  std::string architecture = {};  // general.architecture: phi3's control tokens take the white space behind them
};

/// `file` names the source in errors. Errors: bad_tokenizer.
Result<std::shared_ptr<const Tokenizer>> tokenizerFromGguf(const GgufTokenizer& keys, const std::string& file);

}  // namespace kvlab
