// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/bpe_tokenizer.h"

#include <algorithm>

#include "core/model/tokens/byte_chars.h"
#include "core/model/tokens/pattern.h"
#include "core/model/tokens/tokenizer_files.h"
#include "core/model/tokens/utf8.h"

namespace kvlab {
namespace {

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(bpe::Parts parts) : m_parts(std::move(parts)) {}
  Status index(const std::string& file);

  Result<std::vector<TokenId>> encode(std::string_view text, bool addSpecial) const override;
  std::string decode(std::span<const TokenId> ids, bool skipSpecial) const override;
  std::string tokenText(TokenId id) const override;
  bool isSpecial(TokenId id) const override;
  std::int32_t size() const override { return m_size; }
  TokenId bos() const override { return m_parts.bos; }
  std::vector<TokenId> eos() const override { return m_parts.eos; }

 private:
  using Ids = std::vector<std::int32_t>;
  struct Token {
    const std::string* text = nullptr;  // as the file has it
    const bpe::AddedToken* added = nullptr;
  };

  Status encodeRaw(std::string_view text, bool first, Ids& ids) const;
  Status encodePlain(std::string_view text, bool first, Ids& ids) const;
  /// Null outside the vocabulary.
  const Token* token(TokenId id) const;

  const bpe::Parts m_parts;
  bpe::TokenFinder m_raw, m_normalised;  // finders of tokens before / after normalising
  bpe::ByteChars m_chars;
  std::unordered_map<std::int32_t, Token> m_tokens;  // into m_parts
  std::int32_t m_size = 0;
};

constexpr std::size_t kMaxText = bpe::kMaxGrown;
constexpr std::size_t kMaxAdded = 1 << 16;  // bytes of an added token

Status BpeTokenizer::index(const std::string& file) {
  for (const bpe::AddedToken& t : m_parts.added) {
    std::string as = t.content;
    if ((t.normalized || t.bothWays) && m_parts.normaliser)
      if (auto s = m_parts.normaliser(as); !s) return badTokenizer(file, "added_tokens " + s.error().why);
    if (as.size() > kMaxAdded) return badTokenizer(file, "added_tokens has a text that is too long");
    if (t.normalized || t.bothWays) m_normalised.add(t, std::move(as));
    if (!t.normalized || t.bothWays) m_raw.add(t, t.content);
  }
  for (const auto& [text, id] : m_parts.model.vocabulary()) m_tokens[id] = {&text};
  for (const bpe::AddedToken& t : m_parts.added) m_tokens[t.id] = {&t.content, &t};
  for (const auto& [id, token] : m_tokens) m_size = std::max(m_size, id + 1);
  return ok();
}

Result<std::vector<TokenId>> BpeTokenizer::encode(std::string_view text, bool addSpecial) const {
  if (const auto at = invalidUtf8At(text); at != std::string_view::npos)
    return badText("byte " + std::to_string(at) + " is not UTF-8", "give text in UTF-8");
  if (text.size() > kMaxText)
    return badText(std::to_string(text.size()) + " bytes, the limit is " + std::to_string(kMaxText),
                   "tokenise it in parts");
  Ids ids;
  if (addSpecial) ids = m_parts.surround.before;
  for (const bpe::Part& part : m_raw.find(text)) {
    if (part.token) ids.push_back(part.token->id);
    else KV_TRY(encodeRaw(text.substr(part.begin, part.end - part.begin), part.begin == 0, ids));
  }
  if (addSpecial) ids.insert(ids.end(), m_parts.surround.after.begin(), m_parts.surround.after.end());
  std::vector<TokenId> out;
  out.reserve(ids.size());
  for (const std::int32_t id : ids) out.emplace_back(id);
  return out;
}

Status BpeTokenizer::encodeRaw(std::string_view text, bool first, Ids& ids) const {
  std::string normal(text);
  if (m_parts.normaliser) KV_TRY(m_parts.normaliser(normal));
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
  if (m_parts.preTokeniser) KV_TRY(m_parts.preTokeniser(pieces));
  for (const bpe::Piece& piece : pieces) m_parts.model.encode(piece.text, ids);
  return ok();
}

const BpeTokenizer::Token* BpeTokenizer::token(TokenId id) const {
  const auto it = m_tokens.find(id.value());
  return it == m_tokens.end() ? nullptr : &it->second;
}

std::string BpeTokenizer::decode(std::span<const TokenId> ids, bool skipSpecial) const {
  std::vector<std::string> tokens;
  for (const TokenId id : ids)
    if (const Token* one = token(id); one && !(skipSpecial && isSpecial(id))) tokens.push_back(*one->text);
  if (m_parts.decoder && !m_parts.decoder(tokens)) return {};
  std::string out;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && !m_parts.decoder) out += ' ';
    out += tokens[i];
  }
  return out;
}

std::string BpeTokenizer::tokenText(TokenId id) const {
  const Token* one = token(id);
  if (!one) return {};
  const std::string& text = *one->text;
  if (one->added && (one->added->special || m_parts.byteLevel)) return shownText(text);
  if (m_parts.byteLevel) return shownText(m_chars.decoded(text).value_or(text));
  const int byte = bpe::byteOfToken(text);
  if (byte >= 0 && byte < 0x80) return shownText(std::string(1, static_cast<char>(byte)));
  const auto spaced = bpe::Pattern::text("\xe2\x96\x81").replace(text, " ");
  return shownText(spaced ? *spaced : text);
}

bool BpeTokenizer::isSpecial(TokenId id) const {
  const Token* one = token(id);
  return one && one->added && one->added->special;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> bpe::tokenizerOf(Parts parts, const std::string& file) {
  auto tokenizer = std::make_shared<BpeTokenizer>(std::move(parts));
  KV_TRY(tokenizer->index(file));
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

}  // namespace kvlab
