// SPDX-License-Identifier: Apache-2.0
#include <sentencepiece_processor.h>

#include <charconv>

#include "core/model/tokens/charsmap_check.h"
#include "core/model/tokens/tokenizer_files.h"
#include "core/model/tokens/utf8.h"

namespace kvlab {
namespace {

constexpr std::string_view kSpaceMark = "\xe2\x96\x81";  // U+2581

class SentencePieceTokenizer final : public Tokenizer {
 public:
  Status load(const std::string& bytes, const std::string& file, const TokenizerSettings& settings) {
    if (const std::string fault = sentencePieceFault(bytes); !fault.empty()) return badTokenizer(file, fault);
    const auto status = m_processor.LoadFromSerializedProto(bytes);
    if (!status.ok()) return badTokenizer(file, status.ToString());
    if (m_processor.GetPieceSize() <= 0) return badTokenizer(file, "it has no pieces");
    m_bos = TokenId(settings.bos >= 0 ? settings.bos : m_processor.bos_id());
    for (const std::int32_t id : settings.eos) m_eos.emplace_back(id);
    if (m_eos.empty() && m_processor.eos_id() >= 0) m_eos.emplace_back(m_processor.eos_id());
    m_addBos = settings.addBos && m_bos.value() >= 0;
    m_addEos = settings.addEos && !m_eos.empty();
    return ok();
  }

  Result<std::vector<TokenId>> encode(std::string_view text, bool addSpecial) const override {
    if (const auto at = invalidUtf8At(text); at != std::string_view::npos)
      return badText("byte " + std::to_string(at) + " is not UTF-8", "give text in UTF-8");
    std::vector<int> ids;
    if (const auto status = m_processor.Encode({text.data(), text.size()}, &ids); !status.ok())
      return badText(status.ToString(), "give other text, or token ids");
    std::vector<TokenId> out;
    out.reserve(ids.size() + 2);
    if (addSpecial && m_addBos) out.push_back(m_bos);
    for (const int id : ids) out.emplace_back(id);
    if (addSpecial && m_addEos) out.push_back(m_eos.front());
    return out;
  }

  std::string decode(std::span<const TokenId> ids, bool) const override {
    std::vector<int> known;
    known.reserve(ids.size());
    for (const TokenId id : ids)
      if (contains(id)) known.push_back(id.value());
    std::string text;
    if (!m_processor.Decode(known, &text).ok()) return {};
    return validUtf8(text);
  }

  std::string tokenText(TokenId id) const override {
    if (!contains(id)) return {};
    const std::string piece = m_processor.IdToPiece(id.value());
    if (isSpecial(id)) return shownText(piece);
    if (m_processor.IsByte(id.value())) return shownByte(piece);
    return shownText(withSpaces(piece));
  }

  bool isSpecial(TokenId id) const override {
    return contains(id) && (m_processor.IsControl(id.value()) || m_processor.IsUnknown(id.value()));
  }
  std::int32_t size() const override { return m_processor.GetPieceSize(); }
  TokenId bos() const override { return m_bos; }
  std::vector<TokenId> eos() const override { return m_eos; }

 private:
  bool contains(TokenId id) const { return id.value() >= 0 && id.value() < m_processor.GetPieceSize(); }

  static std::string withSpaces(std::string_view piece) {
    std::string out;
    for (std::size_t at = 0; at < piece.size();) {
      const bool mark = piece.substr(at, kSpaceMark.size()) == kSpaceMark;
      out += mark ? ' ' : piece[at];
      at += mark ? kSpaceMark.size() : 1;
    }
    return out;
  }

  /// "<0x41>" as the character where it is a printable one.
  static std::string shownByte(const std::string& piece) {
    int byte = 0;
    if (piece.size() != 6 || std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16).ec != std::errc{})
      return piece;
    return byte < 0x80 ? shownText(std::string(1, static_cast<char>(byte))) : piece;
  }

  sentencepiece::SentencePieceProcessor m_processor;
  TokenId m_bos{-1};
  std::vector<TokenId> m_eos;
  bool m_addBos = false, m_addEos = false;
};

}  // namespace

Result<std::shared_ptr<const Tokenizer>> parseSentencePiece(const std::string& bytes, const std::string& file,
                                                            const TokenizerSettings& settings) {
  auto tokenizer = std::make_shared<SentencePieceTokenizer>();
  KV_TRY(tokenizer->load(bytes, file, settings));
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

}  // namespace kvlab
