// SPDX-License-Identifier: Apache-2.0
// tokenizer.json: added tokens, normaliser, pre-tokeniser, BPE, template, decoder, in that order,
// with the behaviour of the tokenizers library.
#include <algorithm>

#include "core/model/files/strict_json.h"
#include "core/model/tokens/added_tokens.h"
#include "core/model/tokens/bpe_decoder.h"
#include "core/model/tokens/byte_chars.h"
#include "core/model/tokens/merges.h"
#include "core/model/tokens/normaliser.h"
#include "core/model/tokens/pattern.h"
#include "core/model/tokens/pre_tokeniser.h"
#include "core/model/tokens/steps.h"
#include "core/model/tokens/template.h"
#include "core/model/tokens/tokenizer_files.h"
#include "core/model/tokens/utf8.h"

namespace kvlab {
namespace {

using nlohmann::json;

class BpeTokenizer final : public Tokenizer {
 public:
  Status load(const JsonFields& in, const TokenizerSettings& settings);

  Result<std::vector<TokenId>> encode(std::string_view text, bool addSpecial) const override;
  std::string decode(std::span<const TokenId> ids, bool skipSpecial) const override;
  std::string tokenText(TokenId id) const override;
  bool isSpecial(TokenId id) const override;
  std::int32_t size() const override { return m_size; }
  TokenId bos() const override { return m_bos; }
  std::vector<TokenId> eos() const override { return m_eos; }

 private:
  using Ids = std::vector<std::int32_t>;

  Status loadSteps(const JsonFields& in);
  Status loadAdded(const JsonFields& in);
  void indexTokens();
  Status encodeRaw(std::string_view text, bool first, Ids& ids) const;
  Status encodePlain(std::string_view text, bool first, Ids& ids) const;
  /// The token's string in the file; empty outside the vocabulary.
  const std::string* token(TokenId id) const;

  bpe::BpeModel m_model;
  std::vector<bpe::AddedToken> m_added;
  bpe::TokenFinder m_raw, m_normalised;  // of tokens found before / after normalising
  bpe::Normaliser m_normaliser;          // empty = none, as the next two
  bpe::PreTokeniser m_preTokeniser;
  bpe::Decoder m_decoder;
  bpe::Surround m_surround;
  bpe::ByteChars m_chars;
  bool m_byteLevel = false;                                       // tokens are bytes in disguise
  std::unordered_map<std::int32_t, const std::string*> m_tokens;  // into m_model and m_added
  std::unordered_map<std::int32_t, bool> m_isAdded;               // special or not
  std::int32_t m_size = 0;
  TokenId m_bos{-1};
  std::vector<TokenId> m_eos;
};

constexpr std::size_t kMaxText = bpe::kMaxGrown;
constexpr std::size_t kMaxAdded = 1 << 16;  // bytes of an added token

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

Status BpeTokenizer::load(const JsonFields& in, const TokenizerSettings& settings) {
  if (!in.has("model")) return in.bad("model", "is missing");
  KV_TRY(readStep(in, "model", bpe::BpeModel::fromJson, m_model));
  KV_TRY(loadSteps(in));
  KV_TRY(loadAdded(in));
  indexTokens();
  m_bos = TokenId(settings.bos);
  for (const std::int32_t id : settings.eos) m_eos.emplace_back(id);
  return ok();
}

Status BpeTokenizer::loadSteps(const JsonFields& in) {
  KV_TRY(readStep(in, "normalizer", bpe::normaliserFromJson, m_normaliser));
  KV_TRY(readStep(in, "pre_tokenizer", bpe::preTokeniserFromJson, m_preTokeniser));
  KV_TRY(readStep(in, "post_processor", bpe::surroundFromJson, m_surround));
  KV_TRY(readStep(in, "decoder", bpe::decoderFromJson, m_decoder));
  m_byteLevel = in.has("decoder") && mentionsByteLevel(in.json().at("decoder"));
  return ok();
}

Status BpeTokenizer::loadAdded(const JsonFields& in) {
  if (!in.has("added_tokens")) return ok();
  m_added = KV_TRY(bpe::readSteps<bpe::AddedToken>(in, "added_tokens", bpe::addedTokenFromJson));
  for (const bpe::AddedToken& t : m_added) {
    std::string as = t.content;
    if (t.normalized && m_normaliser)
      if (auto s = m_normaliser(as); !s) return in.bad("added_tokens", s.error().why);
    if (as.size() > kMaxAdded) return in.bad("added_tokens", "has a text that is too long");
    (t.normalized ? m_normalised : m_raw).add(t, std::move(as));
  }
  return ok();
}

void BpeTokenizer::indexTokens() {
  for (const auto& [text, id] : m_model.vocabulary()) m_tokens[id] = &text;
  for (const bpe::AddedToken& t : m_added) {
    m_tokens[t.id] = &t.content;
    m_isAdded[t.id] = t.special;
  }
  for (const auto& [id, text] : m_tokens) m_size = std::max(m_size, id + 1);
}

Result<std::vector<TokenId>> BpeTokenizer::encode(std::string_view text, bool addSpecial) const {
  if (const auto at = invalidUtf8At(text); at != std::string_view::npos)
    return badText("byte " + std::to_string(at) + " is not UTF-8", "give text in UTF-8");
  if (text.size() > kMaxText)
    return badText(std::to_string(text.size()) + " bytes, the limit is " + std::to_string(kMaxText),
                   "tokenise it in parts");
  Ids ids;
  if (addSpecial) ids = m_surround.before;
  for (const bpe::Part& part : m_raw.find(text)) {
    if (part.token) ids.push_back(part.token->id);
    else KV_TRY(encodeRaw(text.substr(part.begin, part.end - part.begin), part.begin == 0, ids));
  }
  if (addSpecial) ids.insert(ids.end(), m_surround.after.begin(), m_surround.after.end());
  std::vector<TokenId> out;
  out.reserve(ids.size());
  for (const std::int32_t id : ids) out.emplace_back(id);
  return out;
}

Status BpeTokenizer::encodeRaw(std::string_view text, bool first, Ids& ids) const {
  std::string normal(text);
  if (m_normaliser) KV_TRY(m_normaliser(normal));
  for (const bpe::Part& part : m_normalised.find(normal)) {
    if (part.token) ids.push_back(part.token->id);
    else
      KV_TRY(encodePlain(std::string_view(normal).substr(part.begin, part.end - part.begin), first && part.begin == 0,
                         ids));
  }
  return ok();
}

Status BpeTokenizer::encodePlain(std::string_view text, bool first, Ids& ids) const {
  bpe::Pieces pieces{{std::string(text), first}};
  if (m_preTokeniser) KV_TRY(m_preTokeniser(pieces));
  for (const bpe::Piece& piece : pieces) m_model.encode(piece.text, ids);
  return ok();
}

const std::string* BpeTokenizer::token(TokenId id) const {
  const auto it = m_tokens.find(id.value());
  return it == m_tokens.end() ? nullptr : it->second;
}

std::string BpeTokenizer::decode(std::span<const TokenId> ids, bool skipSpecial) const {
  std::vector<std::string> tokens;
  for (const TokenId id : ids)
    if (const std::string* text = token(id); text && !(skipSpecial && isSpecial(id))) tokens.push_back(*text);
  if (m_decoder && !m_decoder(tokens)) return {};
  std::string out;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && !m_decoder) out += ' ';
    out += tokens[i];
  }
  return out;
}

std::string BpeTokenizer::tokenText(TokenId id) const {
  const std::string* text = token(id);
  if (!text) return {};
  if (m_isAdded.contains(id.value())) return shownText(*text);
  if (m_byteLevel) return shownText(m_chars.decoded(*text).value_or(*text));
  const int byte = bpe::byteOfToken(*text);
  if (byte >= 0 && byte < 0x80) return shownText(std::string(1, static_cast<char>(byte)));
  const auto spaced = bpe::Pattern::text("\xe2\x96\x81").replace(*text, " ");
  return shownText(spaced ? *spaced : *text);
}

bool BpeTokenizer::isSpecial(TokenId id) const {
  const auto it = m_isAdded.find(id.value());
  return it != m_isAdded.end() && it->second;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> parseTokenizerJson(const std::string& text, const std::string& file,
                                                            const TokenizerSettings& settings) {
  const auto json = KV_TRY(parseJson(text, file, "bad_tokenizer"));
  if (!json.is_object()) return badTokenizer(file, "not a JSON object");
  auto tokenizer = std::make_shared<BpeTokenizer>();
  KV_TRY(tokenizer->load(JsonFields(json, file, "bad_tokenizer"), settings));
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

}  // namespace kvlab
