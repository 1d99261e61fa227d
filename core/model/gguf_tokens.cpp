// SPDX-License-Identifier: Apache-2.0
#include "core/model/gguf_model.h"

namespace kvlab {
namespace {

std::string tokenKey(const char* name) { return std::string("tokenizer.ggml.") + name; }

/// -1 where the key is absent.
Result<std::int32_t> tokenId(const GgufKeys& keys, const char* name, std::size_t tokens) {
  const auto id = KV_TRY(keys.whole(tokenKey(name)));
  if (!id) return -1;
  if (*id < 0 || *id >= static_cast<std::int64_t>(tokens))
    return keys.bad(tokenKey(name), "is " + std::to_string(*id) + ", there are " + std::to_string(tokens) + " tokens");
  return static_cast<std::int32_t>(*id);
}

Result<GgufTokenizer> readTokens(const GgufKeys& keys) {
  GgufTokenizer out;
  out.model = KV_TRY(keys.text(tokenKey("model"))).value_or("");
  out.pre = KV_TRY(keys.text(tokenKey("pre"))).value_or("");
  out.tokens = KV_TRY(keys.texts(tokenKey("tokens")));
  if (out.tokens.empty()) return out;
  out.scores = KV_TRY(keys.reals(tokenKey("scores")));
  out.types = KV_TRY(keys.wholes(tokenKey("token_type")));
  out.merges = KV_TRY(keys.texts(tokenKey("merges")));
  out.bos = KV_TRY(tokenId(keys, "bos_token_id", out.tokens.size()));
  out.eos = KV_TRY(tokenId(keys, "eos_token_id", out.tokens.size()));
  out.eot = KV_TRY(tokenId(keys, "eot_token_id", out.tokens.size()));
  out.unknown = KV_TRY(tokenId(keys, "unknown_token_id", out.tokens.size()));
  out.addBos = KV_TRY(keys.flag(tokenKey("add_bos_token")));
  out.addEos = KV_TRY(keys.flag(tokenKey("add_eos_token")));
  out.addSpacePrefix = KV_TRY(keys.flag(tokenKey("add_space_prefix")));
  out.architecture = KV_TRY(keys.text("general.architecture")).value_or("");
  return out;
}

/// One score and one type for each token, no more tokens than embeddings.
Status checkTokens(const GgufKeys& keys, const GgufTokenizer& tokens, std::int64_t rows) {
  const std::size_t n = tokens.tokens.size();
  if (n > static_cast<std::size_t>(rows))
    return keys.bad(tokenKey("tokens"),
                    "has " + std::to_string(n) + " tokens, token_embd.weight has rows for " + std::to_string(rows));
  const auto mismatch = [&](const char* name, std::size_t size) {
    return keys.bad(tokenKey(name), "has " + std::to_string(size) + " items for " + std::to_string(n) + " tokens");
  };
  if (!tokens.scores.empty() && tokens.scores.size() != n) return mismatch("scores", tokens.scores.size());
  if (!tokens.types.empty() && tokens.types.size() != n) return mismatch("token_type", tokens.types.size());
  return ok();
}

}  // namespace

Result<GgufTokenizer> tokenizerKeysOf(const Gguf& file, std::int64_t rows) {
  auto tokens = KV_TRY(readTokens(file.keys()));
  KV_TRY(checkTokens(file.keys(), tokens, rows));
  return tokens;
}

}  // namespace kvlab
