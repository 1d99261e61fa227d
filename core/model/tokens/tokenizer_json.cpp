// SPDX-License-Identifier: Apache-2.0
// The parts of a tokenizer.json, each with its own reader.
#include <algorithm>

#include "core/model/files/strict_json.h"
#include "core/model/tokens/bpe_tokenizer.h"
#include "core/model/tokens/steps.h"
#include "core/model/tokens/tokenizer_files.h"

namespace kvlab {
namespace {

using nlohmann::json;

bool mentionsByteLevel(const json& decoder) {
  if (!decoder.is_object()) return false;
  if (decoder.value("type", json()) == "ByteLevel") return true;
  const auto list = decoder.find("decoders");
  if (list == decoder.end() || !list->is_array()) return false;
  return std::any_of(list->begin(), list->end(), mentionsByteLevel);
}

/// Reads the step `key` of the file, if it has one.
template <class Step, class Read>
Status readStep(const JsonFields& in, const char* key, Read read, Step& out) {
  if (!in.has(key)) return ok();
  if (!in.json().at(key).is_object()) return in.bad(key, "is not an object");
  out = KV_TRY(read(in.inside(in.json().at(key))));
  return ok();
}

/// Adds the tokens of the file, then the tokens of the files beside it.
Status addTokens(const JsonFields& in, const TokenFiles& files, bpe::Parts& out) {
  std::vector<bpe::AddedToken> own;
  if (in.has("added_tokens"))
    own = KV_TRY(bpe::readSteps<bpe::AddedToken>(in, "added_tokens", bpe::addedTokenFromJson));
  auto all = addedTokens(files, own, static_cast<std::int32_t>(out.model.vocabulary().size()),
                         [&](std::string_view token) { return out.model.id(token); });
  if (!all) return in.bad("added_tokens", "are too many");
  out.added = std::move(*all);
  return ok();
}

Result<bpe::Parts> partsOf(const JsonFields& in, const TokenizerSettings& settings) {
  bpe::Parts out;
  if (!in.has("model")) return in.bad("model", "is missing");
  KV_TRY(readStep(in, "model", bpe::BpeModel::fromJson, out.model));
  KV_TRY(readStep(in, "normalizer", bpe::normaliserFromJson, out.normaliser));
  KV_TRY(readStep(in, "pre_tokenizer", bpe::preTokeniserFromJson, out.preTokeniser));
  KV_TRY(readStep(in, "post_processor", bpe::surroundFromJson, out.surround));
  KV_TRY(readStep(in, "decoder", bpe::decoderFromJson, out.decoder));
  out.byteLevel = in.has("decoder") && mentionsByteLevel(in.json().at("decoder"));
  KV_TRY(addTokens(in, settings.files, out));
  out.bos = TokenId(settings.bos);
  for (const std::int32_t id : settings.eos) out.eos.emplace_back(id);
  nameEnds(settings.files, out.added, out.bos, out.eos);
  return out;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> parseTokenizerJson(const std::string& text, const std::string& file,
                                                            const TokenizerSettings& settings) {
  const auto json = KV_TRY(parseJson(text, file, "bad_tokenizer"));
  if (!json.is_object()) return badTokenizer(file, "not a JSON object");
  return bpe::tokenizerOf(KV_TRY(partsOf(JsonFields(json, file, "bad_tokenizer"), settings)), file);
}

}  // namespace kvlab
