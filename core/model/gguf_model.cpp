// SPDX-License-Identifier: Apache-2.0
#include "core/model/gguf_model.h"

#include <algorithm>
#include <array>

#include "core/model/files/gguf_config.h"
#include "core/model/model_builder.h"
#include "core/model/synthetic.h"

namespace kvlab {
namespace {

/// Texts of tokens that end a turn, for files that name none.
constexpr std::array<std::string_view, 6> kTurnEnds{"<|eot_id|>", "<|im_end|>",      "<end_of_turn>",
                                                    "<|end|>",    "<|end_of_turn|>", "<|return|>"};

/// The end of a turn ends a text too. A file that names no such token may still have one.
void findTurnEnd(GgufTokenizer& tokens, ModelConfig& config) {
  for (std::size_t i = 0; tokens.eot < 0 && i < tokens.tokens.size(); ++i)
    if (std::find(kTurnEnds.begin(), kTurnEnds.end(), tokens.tokens[i]) != kTurnEnds.end() &&
        (tokens.types.empty() || tokens.types[i] == 3 || tokens.types[i] == 4))
      tokens.eot = static_cast<std::int32_t>(i);
  if (tokens.eot >= 0 && std::find(config.eos.begin(), config.eos.end(), tokens.eot) == config.eos.end())
    config.eos.push_back(tokens.eot);
}

/// Complaints about roles name the tensors of the file.
Error inTheFilesWords(Error error, const std::string& file, const ModelConfig& config) {
  const auto swap = [&](const std::string& from, const std::string& to) {
    for (std::string* text : {&error.why, &error.remedy})
      if (const auto at = text->find(from); at != std::string::npos) text->replace(at, from.size(), to);
  };
  if (const auto place = ggufPlace(config, error.field)) {
    swap(error.field, place->name);
    error.field = place->name;
  }
  swap("config.json asks for", "the keys ask for");
  swap("or correct config.json", "or convert it anew");
  swap("use the config.json that belongs to the weights", "use an undamaged copy of the file");
  error.what = "cannot read " + file;
  return error;
}

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

Result<std::shared_ptr<const Model>> openGguf(const std::string& spec, const std::string& file,
                                              const Progress& progress) {
  const auto cancelled = [&](const char* what, int step) { return !report(progress, what, step, 3); };
  if (cancelled(("reading " + spec).c_str(), 0)) return cancelledOpening(spec);
  const auto kept = std::make_shared<const Gguf>(KV_TRY(Gguf::open(file)));
  auto config = KV_TRY(configOf(*kept));
  if (cancelled("reading tokenizer", 1)) return cancelledOpening(spec);
  auto tokens = KV_TRY(tokenizerKeysOf(*kept, config.vocab));
  findTurnEnd(tokens, config);
  const auto chat = KV_TRY(kept->keys().text("tokenizer.chat_template"));
  ModelBuilder builder(spec, config);
  builder.tokenizer(tokens.tokens.empty() ? makeSyntheticTokenizer(config)
                                          : KV_TRY(tokenizerFromGguf(tokens, kept->file())));
  builder.chatTemplate(chat.value_or(""));
  if (cancelled("reading weights", 2)) return cancelledOpening(spec);
  const auto find = [&](const std::string& name) { return findInGguf(*kept, config, name); };
  if (const Status filled = builder.weights(find, kept); !filled)
    return inTheFilesWords(filled.error(), kept->file(), config);
  return builder.build();
}

}  // namespace kvlab
