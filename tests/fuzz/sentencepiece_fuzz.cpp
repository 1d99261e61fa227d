// SPDX-License-Identifier: Apache-2.0
// Input: a byte n, n bytes of text, then a tokenizer.model. An accepted tokenizer encodes to ids of its
// vocabulary, and every id can be shown and decoded.
#include "core/model/tokens/tokenizer_files.h"
#include "fuzz.h"

using namespace kvlab;

namespace {

void use(const Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text, true);
  if (!ids) return fuzz::checkError(ids.error());
  for (const TokenId id : *ids) fuzz::require(id.value() >= 0 && id.value() < tokenizer.size(), "an id outside");
  tokenizer.decode(*ids);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t length = std::min<std::size_t>(data[0], size - 1);
  const std::string_view all = fuzz::text(data, size).substr(1);
  const auto tokenizer = parseSentencePiece(std::string(all.substr(length)), "f", TokenizerSettings{});
  if (!tokenizer) {
    fuzz::checkError(tokenizer.error());
    return 0;
  }
  fuzz::require((*tokenizer)->size() > 0, "no pieces");
  use(**tokenizer, all.substr(0, length));
  use(**tokenizer, "the silver key \xc3\xa9 \xef\xbd\xb1  12\n");
  for (std::int32_t id = 0; id < std::min((*tokenizer)->size(), 64); ++id) {
    (*tokenizer)->tokenText(TokenId(id));
    (*tokenizer)->isSpecial(TokenId(id));
    const TokenId one[] = {TokenId(id)};
    (*tokenizer)->decode(one);
  }
  return 0;
}
