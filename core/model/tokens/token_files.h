// SPDX-License-Identifier: Apache-2.0
// Tokens that the files beside a tokenizer describe: tokenizer_config.json, special_tokens_map.json and
// added_tokens.json, read as transformers 4.57 and 5 read them. Values; any thread.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/api/ids.h"
#include "core/model/tokens/added_tokens.h"

namespace kvlab {

struct TokenFiles {
  /// Tokens in the order of the ids that the files state.
  std::vector<bpe::AddedToken> listed = {};
  /// added_tokens_decoder lists all tokens; without it the tokenizer's own go before those of added_tokens.json.
  bool complete = false;
  /// The token of the text's beginning, of its end, and so on, and further special ones; normalized = false.
  std::vector<bpe::AddedToken> special = {};
  /// Texts by name: "bos_token", ..; an empty text where the files say that there is no such token.
  std::map<std::string, std::string> names = {};
  // Only tokenizers of tokenizer.model use these.
  std::optional<bool> addBos = {}, addEos = {}, addPrefixSpace = {};
  bool legacy = true;  // a space is put before each part between added tokens, else before the first part alone
};

/// Reads the files of a directory, which may have none of them. Errors: bad_tokenizer.
Result<TokenFiles> readTokenFiles(const std::string& directory);

/// The tokens of a text's beginning and end that the files name go before those of config.json, which chat templates
/// would otherwise write. A named end joins the ends.
void nameEnds(const TokenFiles& files, const std::vector<bpe::AddedToken>& added, TokenId& bos,
              std::vector<TokenId>& eos);

/// The id of a token of the vocabulary.
using IdOf = std::function<std::optional<std::int32_t>(std::string_view token)>;

/// The tokens that a tokenizer of `size` tokens has besides, in order of their ids: its `own`, then those of the files,
/// added as the tokenizers library adds them. A token whose text is known keeps its id, whatever id its file states;
/// another gets the next free one. A token that is named again replaces its earlier settings. Nothing where there are
/// too many.
std::optional<std::vector<bpe::AddedToken>> addedTokens(const TokenFiles& files,
                                                        const std::vector<bpe::AddedToken>& own, std::int32_t size,
                                                        const IdOf& idOf);

}  // namespace kvlab
