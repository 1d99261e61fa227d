// SPDX-License-Identifier: Apache-2.0
// The rules by which byte-level BPE vocabularies cut text before they merge, with the names of GGUF files
// (tokenizer.ggml.pre). Each rule is the one in the tokenizer.json of the family that the name stands for. Values; any
// thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace kvlab::bpe {

struct SplitRule {
  nlohmann::json normalizer, preTokenizer;  // as in a tokenizer.json; null = none
  bool ignoreMerges = false;                // a piece that is a token is that token, whatever the merges say
  bool addBos = false;                      // the default if the file has no such key
};

/// False where no rule has the name.
bool splitRule(std::string_view name, SplitRule& out);
/// "dbrx, default, falcon, ...".
std::string splitRuleNames();

}  // namespace kvlab::bpe
