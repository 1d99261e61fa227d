// SPDX-License-Identifier: Apache-2.0
// Input: a tokenizer.json, optionally a NUL and text to tokenise with it.
#include <string>

#include "core/model/tokens/tokenizer_files.h"
#include "core/model/tokens/utf8.h"
#include "fuzz.h"

using namespace kvlab;

namespace {

void tokenise(const Tokenizer& tokenizer, std::string_view text) {
  for (const bool special : {false, true}) {
    const auto ids = tokenizer.encode(text, special);
    if (!ids) {
      fuzz::checkError(ids.error());
      continue;
    }
    for (const TokenId id : *ids) fuzz::require(id.value() >= 0, "a negative id");
    fuzz::require(invalidUtf8At(tokenizer.decode(*ids, special)) == std::string_view::npos, "decoded to no UTF-8");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text(data, size);
  const auto split = input.find('\0');
  const auto tokenizer = parseTokenizerJson(std::string(input.substr(0, split)), "f", {});
  if (!tokenizer) {
    fuzz::checkError(tokenizer.error());
    return 0;
  }
  tokenise(**tokenizer, "A cat's  12 b\xc3\xa4r\xc3\xa9 e\xcc\x81\n<s> door\t\xf0\x9f\x91\xa8");
  if (split != std::string_view::npos) tokenise(**tokenizer, input.substr(split + 1, 256));
  for (std::int32_t id = -1; id < std::min((*tokenizer)->size() + 1, 600); ++id)
    fuzz::require(invalidUtf8At((*tokenizer)->tokenText(TokenId(id))) == std::string_view::npos,
                  "a text that is no UTF-8");
  return 0;
}
