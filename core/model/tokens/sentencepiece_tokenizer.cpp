// SPDX-License-Identifier: Apache-2.0
#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstring>

#include "core/api/log.h"
#include "core/model/tokens/steps.h"
#include "core/model/tokens/tokenizer_files.h"
#include "core/model/tokens/utf8.h"

namespace kvlab {
namespace {

using bpe::AddedToken;
using sentencepiece::SentencePieceProcessor;

// Parts of a SentencePiece model that its library does not check, or does not tell: the texts of the pieces; the
// normaliser's precompiled character map, a Darts-clone double array whose values point into a string pool; which
// pieces are tokens of the user. Field numbers are those of sentencepiece_model.proto; the array's bits are
// Darts-clone's: label in bits 0..7, leaf flag in 8, offset in 10..30 scaled by bit 9, value flag in 31.

constexpr std::uint64_t kPieces = 1, kNormalizerSpec = 3, kDenormalizerSpec = 5;  // fields of ModelProto
constexpr std::uint64_t kPieceText = 1, kPieceType = 3, kUserDefined = 4;         // fields of SentencePiece
constexpr std::uint64_t kCharsMap = 2;                                            // field of NormalizerSpec

/// Reads the wire format of protocol buffers, field by field.
class Wire {
 public:
  struct Field {
    std::uint64_t number = 0;
    std::string_view bytes = {};  // content of a length-delimited field; empty for others
    std::uint64_t value = 0;      // value of a varint
  };
  explicit Wire(std::string_view rest) : m_rest(rest) {}

  bool done() const { return m_rest.empty(); }
  std::optional<Field> next() {
    const auto tag = varint();
    if (!tag) return {};
    Field field{*tag >> 3};
    switch (*tag & 7) {
      case 0: {
        const auto value = varint();
        field.value = value.value_or(0);
        return value ? std::optional(field) : std::nullopt;
      }
      case 1: return take(8) ? std::optional(field) : std::nullopt;
      case 5: return take(4) ? std::optional(field) : std::nullopt;
      case 2: break;
      default: return {};
    }
    const auto length = varint();
    const auto bytes = length ? take(*length) : std::nullopt;
    if (!bytes) return {};
    field.bytes = *bytes;
    return field;
  }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !m_rest.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(m_rest.front());
      m_rest.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return {};
  }
  std::optional<std::string_view> take(std::uint64_t n) {
    if (n > m_rest.size()) return {};
    const auto bytes = m_rest.substr(0, static_cast<std::size_t>(n));
    m_rest.remove_prefix(static_cast<std::size_t>(n));
    return bytes;
  }
  std::string_view m_rest;
};

/// Follows the array from its root along every label.
class ArrayWalk {
 public:
  ArrayWalk(std::string_view array, std::string_view pool) : m_units(array.size() / 4), m_pool(pool) {
    if (!m_units.empty()) std::memcpy(m_units.data(), array.data(), m_units.size() * 4);
    m_seen.resize(m_units.size());
  }

  std::string fault() {
    if (m_units.empty()) return "its character map is empty";
    if (m_pool.empty() || m_pool.back() != '\0') return "its character map's texts have no end";
    std::vector<std::size_t> open{0};
    m_seen[0] = true;
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      const std::size_t base = at ^ offset(m_units[at]);
      if ((base | 0xff) >= m_units.size()) return "its character map leads out of itself";
      if (leadsOutOfPool(at, base)) return "its character map points behind its texts";
      for (std::size_t label = 0; label < 256; ++label) {
        const std::size_t child = base ^ label;
        if ((m_units[child] & 0x800000ffu) != label || m_seen[child]) continue;
        m_seen[child] = true;
        open.push_back(child);
      }
    }
    return {};
  }

 private:
  static std::size_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & 0x200u) >> 6); }
  bool leadsOutOfPool(std::size_t at, std::size_t base) const {
    return at != 0 && (m_units[at] & 0x100u) && (m_units[base] & 0x7fffffffu) >= m_pool.size();
  }

  std::vector<std::uint32_t> m_units;
  std::vector<bool> m_seen;
  std::string_view m_pool;  // texts, each ended by a NUL
};

/// u32 bytes of the array, the array, the texts.
std::string mapFault(std::string_view map) {
  if (map.empty()) return {};
  std::uint32_t size = 0;
  if (map.size() <= sizeof size) return "its character map is cut";
  std::memcpy(&size, map.data(), sizeof size);
  map.remove_prefix(sizeof size);
  if (size >= map.size() || size % 4 != 0) return "its character map's size is wrong";
  return ArrayWalk(map.substr(0, size), map.substr(size)).fault();
}

/// The library's trie ends the program at a key that holds a NUL.
std::string pieceFault(std::string_view piece, std::size_t number) {
  Wire wire(piece);
  while (!wire.done()) {
    const auto field = wire.next();
    if (!field) return "piece " + std::to_string(number) + " is not a protocol buffer";
    if (field->number == kPieceText && field->bytes.find('\0') != std::string_view::npos)
      return "piece " + std::to_string(number) + " holds a NUL";
  }
  return {};
}

bool isUserDefined(std::string_view piece) {
  bool out = false;
  for (Wire wire(piece); !wire.done();) {
    const auto field = wire.next();
    if (!field) break;
    if (field->number == kPieceType) out = field->value == kUserDefined;
  }
  return out;
}

std::string normalizerFault(std::string_view spec) {
  Wire wire(spec);
  while (!wire.done()) {
    const auto field = wire.next();
    if (!field) return "its normalizer is not a protocol buffer";
    if (field->number != kCharsMap) continue;
    if (std::string fault = mapFault(field->bytes); !fault.empty()) return fault;
  }
  return {};
}

/// The reason why a serialised ModelProto must not be given to the library; empty if it may.
std::string sentencePieceFault(std::string_view model) {
  Wire wire(model);
  std::size_t pieces = 0;
  while (!wire.done()) {
    const auto field = wire.next();
    if (!field) return "it is not a protocol buffer";
    if (field->number == kPieces)
      if (std::string fault = pieceFault(field->bytes, pieces++); !fault.empty()) return fault;
    if (field->number != kNormalizerSpec && field->number != kDenormalizerSpec) continue;
    if (std::string fault = normalizerFault(field->bytes); !fault.empty()) return fault;
  }
  return {};
}

/// [pieces] True for tokens of the user. The model must be without such a fault.
std::vector<bool> userDefinedPieces(std::string_view model) {
  std::vector<bool> out;
  for (Wire wire(model); !wire.done();) {
    const auto field = wire.next();
    if (!field) break;
    if (field->number == kPieces) out.push_back(isUserDefined(field->bytes));
  }
  return out;
}

constexpr std::string_view kSpaceMark = "\xe2\x96\x81";  // U+2581
/// Field 3 of a ModelProto once more: no space in front (3), white space stays as it is (4). The last mention counts.
constexpr std::string_view kPlain("\x1a\x04\x18\x00\x20\x00", 6);

/// With marks for spaces, and one in front.
std::string marked(std::string_view text) {
  std::string out(kSpaceMark);
  for (const char c : text) {
    if (c == ' ') out += kSpaceMark;
    else out += c;
  }
  return out;
}

class SentencePieceTokenizer final : public Tokenizer {
 public:
  Status load(const std::string& bytes, const std::string& file, const TokenizerSettings& settings);

  Result<std::vector<TokenId>> encode(std::string_view text, bool addSpecial) const override;
  std::string decode(std::span<const TokenId> ids, bool skipSpecial) const override;
  std::string tokenText(TokenId id) const override;
  bool isSpecial(TokenId id) const override;
  std::int32_t size() const override { return m_size; }
  TokenId bos() const override { return m_bos; }
  std::vector<TokenId> eos() const override { return m_eos; }

 private:
  Status addTokens(const std::vector<bool>& ofUser, const std::string& file, const TokenFiles& files);
  void setEnds(const TokenizerSettings& settings);
  bool prefixesEach() const { return m_legacy && m_prefix; }
  Status encodePart(std::string_view part, bool first, std::vector<TokenId>& out) const;
  static Status encodePieces(const SentencePieceProcessor& processor, std::string_view text, std::vector<TokenId>& out);
  bool isPiece(TokenId id) const { return id.value() >= 0 && id.value() < m_processor.GetPieceSize(); }
  const AddedToken* added(TokenId id) const;

  SentencePieceProcessor m_processor, m_plain;  // m_plain leaves spaces as they are
  std::vector<AddedToken> m_added;              // in order of their ids
  bpe::TokenFinder m_raw, m_normalised;         // into m_added; found before / after spaces are put in front
  bool m_anyNormalised = false;
  std::int32_t m_size = 0;
  TokenId m_bos{-1};
  std::vector<TokenId> m_eos;
  std::int32_t m_before = -1, m_behind = -1;  // a token around each text; -1 = none
  bool m_legacy = true, m_prefix = true;
};

Status loadInto(SentencePieceProcessor& processor, const std::string& bytes, const std::string& file) {
  const auto status = processor.LoadFromSerializedProto(bytes);
  if (status.ok()) return ok();
  logInfo(file + ": " + status.ToString());
  return badTokenizer(file, bytes.empty() ? "it is empty" : "SentencePiece finds no vocabulary in it");
}

Status SentencePieceTokenizer::load(const std::string& bytes, const std::string& file,
                                    const TokenizerSettings& settings) {
  if (const std::string fault = sentencePieceFault(bytes); !fault.empty()) return badTokenizer(file, fault);
  KV_TRY(loadInto(m_processor, bytes, file));
  if (m_processor.GetPieceSize() <= 0) return badTokenizer(file, "it has no pieces");
  KV_TRY(loadInto(m_plain, bytes + std::string(kPlain), file));
  m_legacy = settings.files.legacy;
  m_prefix = settings.files.addPrefixSpace.value_or(true);
  KV_TRY(addTokens(userDefinedPieces(bytes), file, settings.files));
  setEnds(settings);
  return ok();
}

/// Pieces that text is not made of, tokens of the user, and all tokens beside the model.
Status SentencePieceTokenizer::addTokens(const std::vector<bool>& ofUser, const std::string& file,
                                         const TokenFiles& files) {
  const std::int32_t pieces = m_processor.GetPieceSize();
  std::vector<AddedToken> own;
  for (std::int32_t id = 0; id < pieces; ++id) {
    const bool unknown = m_processor.IsUnknown(id) && !files.names.contains("unk_token");
    const bool special = m_processor.IsControl(id) || unknown;
    const bool found = special || (at(id) < ofUser.size() && ofUser[at(id)]);
    if (found && invalidUtf8At(m_processor.IdToPiece(id)) == std::string::npos)
      own.push_back({.id = id, .content = m_processor.IdToPiece(id), .normalized = false, .special = special});
  }
  auto all = addedTokens(files, own, pieces, [&](std::string_view token) -> std::optional<std::int32_t> {
    const std::int32_t id = m_processor.PieceToId(token);
    return m_processor.IdToPiece(id) == token ? std::optional(id) : std::nullopt;
  });
  if (!all) return badTokenizer(file, "there are too many tokens beside it");
  m_added = std::move(*all);
  for (const AddedToken& token : m_added) {
    const bool normalised = token.normalized || token.bothWays;
    if (normalised) m_normalised.add(token, prefixesEach() ? marked(token.content) : token.content);
    if (!token.normalized || token.bothWays) m_raw.add(token, token.content);
    m_anyNormalised = m_anyNormalised || normalised;
  }
  m_size = std::max(pieces, m_added.empty() ? 0 : m_added.back().id + 1);
  return ok();
}

void SentencePieceTokenizer::setEnds(const TokenizerSettings& settings) {
  m_bos = TokenId(settings.bos >= 0 ? settings.bos : m_processor.bos_id());
  for (const std::int32_t id : settings.eos) m_eos.emplace_back(id);
  if (m_eos.empty() && m_processor.eos_id() >= 0) m_eos.emplace_back(m_processor.eos_id());
  nameEnds(settings.files, m_added, m_bos, m_eos);
  if (settings.files.addBos.value_or(true)) m_before = m_bos.value();
  if (settings.files.addEos.value_or(false) && !m_eos.empty()) m_behind = m_eos.front().value();
}

Result<std::vector<TokenId>> SentencePieceTokenizer::encode(std::string_view text, bool addSpecial) const {
  if (const auto at = invalidUtf8At(text); at != std::string_view::npos)
    return badText("byte " + std::to_string(at) + " is not UTF-8", "give text in UTF-8");
  std::vector<TokenId> out;
  if (addSpecial && m_before >= 0) out.emplace_back(m_before);
  for (const bpe::Part& part : m_raw.find(text)) {
    if (part.token) out.emplace_back(part.token->id);
    else KV_TRY(encodePart(text.substr(part.begin, part.end - part.begin), part.begin == 0, out));
  }
  if (addSpecial && m_behind >= 0) out.emplace_back(m_behind);
  return out;
}

/// Encodes text between tokens that are found as they are written. The library puts a space in front, unless the space
/// must be there before other tokens are looked for, or goes in front of a text's first piece alone.
Status SentencePieceTokenizer::encodePart(std::string_view part, bool first, std::vector<TokenId>& out) const {
  if (prefixesEach() && !m_anyNormalised) return encodePieces(m_processor, part, out);
  const std::string text = prefixesEach() ? marked(part) : std::string(part);
  for (const bpe::Part& one : m_normalised.find(text)) {
    if (one.token) {
      out.emplace_back(one.token->id);
      continue;
    }
    const std::string piece = text.substr(one.begin, one.end - one.begin);
    const bool space = piece.starts_with(' ') || piece.starts_with(kSpaceMark);
    const bool prefix = !m_legacy && m_prefix && first && one.begin == 0 && !space;
    KV_TRY(encodePieces(m_plain, (prefix ? " " : "") + piece, out));
  }
  return ok();
}

Status SentencePieceTokenizer::encodePieces(const SentencePieceProcessor& processor, std::string_view text,
                                            std::vector<TokenId>& out) {
  std::vector<int> ids;
  if (const auto status = processor.Encode({text.data(), text.size()}, &ids); !status.ok())
    return badText(status.ToString(), "give other text, or token ids");
  for (const int id : ids) out.emplace_back(id);
  return ok();
}

const AddedToken* SentencePieceTokenizer::added(TokenId id) const {
  const auto it = std::lower_bound(m_added.begin(), m_added.end(), id.value(),
                                   [](const AddedToken& token, std::int32_t value) { return token.id < value; });
  return it != m_added.end() && it->id == id.value() ? &*it : nullptr;
}

/// The space before a text goes where the text begins with a piece.
std::string SentencePieceTokenizer::decode(std::span<const TokenId> ids, bool skipSpecial) const {
  std::string out;
  std::vector<int> run;
  bool first = true;
  const auto endRun = [&] {
    std::string text;
    if (!run.empty() && (first ? m_processor : m_plain).Decode(run, &text).ok()) out += text;
    first = first && run.empty();
    run.clear();
  };
  for (const TokenId id : ids) {
    const AddedToken* token = added(id);
    if (!token && isPiece(id)) run.push_back(id.value());
    if (!token || (token->special && skipSpecial)) continue;
    endRun();
    first = false;
    out += token->content;
  }
  endRun();
  return validUtf8(out);
}

std::string withSpaces(std::string_view piece) {
  std::string out;
  for (std::size_t at = 0; at < piece.size();) {
    const bool mark = piece.substr(at, kSpaceMark.size()) == kSpaceMark;
    out += mark ? ' ' : piece[at];
    at += mark ? kSpaceMark.size() : 1;
  }
  return out;
}

/// "<0x41>" as the character where it is a printable one.
std::string shownByte(const std::string& piece) {
  const int byte = bpe::byteOfToken(piece);
  return byte >= 0 && byte < 0x80 ? shownText(std::string(1, static_cast<char>(byte))) : piece;
}

std::string SentencePieceTokenizer::tokenText(TokenId id) const {
  if (const AddedToken* token = added(id))
    return shownText(token->special ? token->content : withSpaces(token->content));
  if (!isPiece(id)) return {};
  const std::string piece = m_processor.IdToPiece(id.value());
  return m_processor.IsByte(id.value()) ? shownByte(piece) : shownText(withSpaces(piece));
}

bool SentencePieceTokenizer::isSpecial(TokenId id) const {
  const AddedToken* token = added(id);
  return token ? token->special : isPiece(id) && m_processor.IsUnknown(id.value());
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> parseSentencePiece(const std::string& bytes, const std::string& file,
                                                            const TokenizerSettings& settings) {
  auto tokenizer = std::make_shared<SentencePieceTokenizer>();
  KV_TRY(tokenizer->load(bytes, file, settings));
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

}  // namespace kvlab
