// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of sentencepiece_model.proto; the array's bits are Darts-clone's: label
// in bits 0..7, leaf flag in 8, offset in 10..30 scaled by bit 9, value flag in 31.
#include "core/model/tokens/charsmap_check.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace kvlab {
namespace {

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

}  // namespace

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

std::vector<bool> userDefinedPieces(std::string_view model) {
  std::vector<bool> out;
  for (Wire wire(model); !wire.done();) {
    const auto field = wire.next();
    if (!field) break;
    if (field->number == kPieces) out.push_back(isUserDefined(field->bytes));
  }
  return out;
}

}  // namespace kvlab
