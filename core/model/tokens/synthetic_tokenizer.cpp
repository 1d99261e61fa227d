// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/model/tokens/tokenizer.h"
#include "core/model/tokens/utf8.h"

namespace kvlab {
namespace {

/// " " and the id in syllables, most significant first.
std::string madeUpWord(std::int32_t id) {
  constexpr std::string_view consonants = "bdfghklmnprstvwz", vowels = "aeiou";
  std::string word;
  for (std::int32_t rest = id; rest > 0; rest /= 80) {
    const auto syllable = static_cast<std::size_t>(rest % 80);
    word.insert(0, {consonants[syllable / 5], vowels[syllable % 5]});
  }
  return " " + word;
}

class SyntheticTokenizer final : public Tokenizer {
 public:
  explicit SyntheticTokenizer(const ModelConfig& config) : m_size(config.vocab), m_bos(config.bos) {
    for (const std::int32_t id : config.eos) m_eos.emplace_back(id);
  }

  Result<std::vector<TokenId>> encode(std::string_view text, bool addSpecial) const override {
    std::vector<TokenId> ids;
    if (addSpecial && m_bos.value() >= 0) ids.push_back(m_bos);
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= m_size)
        return Error("bad_text", "cannot write byte " + std::to_string(byte),
                     "this model has no tokenizer and a vocabulary of " + std::to_string(m_size),
                     "give token ids instead of text");
      ids.emplace_back(byte);
    }
    return ids;
  }
  std::string decode(std::span<const TokenId> ids, bool skipSpecial) const override {
    std::string text;
    for (const TokenId id : ids)
      if (!(skipSpecial && isSpecial(id))) text += raw(id);
    return validUtf8(text);
  }
  std::string tokenText(TokenId id) const override { return shownText(raw(id)); }
  bool isSpecial(TokenId id) const override {
    return id.value() >= 0 && (id == m_bos || std::find(m_eos.begin(), m_eos.end(), id) != m_eos.end());
  }
  std::int32_t size() const override { return m_size; }
  TokenId bos() const override { return m_bos; }
  std::vector<TokenId> eos() const override { return m_eos; }

 private:
  std::string raw(TokenId id) const {
    if (id.value() < 0 || id.value() >= m_size) return {};
    if (isSpecial(id)) return id == m_bos ? "<s>" : "</s>";
    return id.value() < 256 ? std::string(1, static_cast<char>(id.value())) : madeUpWord(id.value());
  }

  std::int32_t m_size;
  TokenId m_bos;
  std::vector<TokenId> m_eos;
};

}  // namespace

std::shared_ptr<const Tokenizer> makeSyntheticTokenizer(const ModelConfig& config) {
  return std::make_shared<SyntheticTokenizer>(config);
}

}  // namespace kvlab
