// SPDX-License-Identifier: Apache-2.0
// Prompt caches of mlx-lm: the state of each layer's cache, flattened to names like 3.0 (keys) and 3.1 (values). Since
// 0.32 the class of a cache is metadata 1.3 and its numbers are arrays (3.2 and on); before, they were metadata 2.3 and
// 0.3.0 and on, and rows that are not used were left out.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/foreign/array_file.h"
#include "core/foreign/foreign_file.h"
#include "core/foreign/importer_table.h"

namespace kvlab {
namespace {

/// Rows that are packed codes of `bits`, with a scale and a least value for each group of neighbours.
struct PackedRows {
  ForeignArray codes, scales, least;  // [rows, heads, ..]
  std::int64_t bits = 0, group = 0;

  std::int64_t dim() const { return codes.shape[2] * 32 / bits; }
};

/// Where a number of a cache stands: among its metadata before 0.32, among its arrays since. -1 = it did not.
struct CacheNumber {
  int before, since;
};
constexpr CacheNumber kOffset{-1, 2}, kRingKept{0, 3}, kRingOffset{2, 2}, kRingNext{3, 5}, kPackedOffset{0, 2},
    kPackedGroup{1, 3}, kPackedBits{2, 4}, kChunkStart{1, 4}, kBatchRows{-1, 4};
constexpr int kBatchPadding = 3;

std::string numberText(std::int64_t n) { return std::to_string(n); }

Result<std::vector<float>> unpacked(const PackedRows& rows, const ForeignRows& scales, const ForeignRows& least) {
  const auto scale = KV_TRY(scales.read()), low = KV_TRY(least.read());
  const std::int64_t dim = rows.dim(), words = rows.codes.shape[2], perWord = 32 / rows.bits;
  std::vector<float> out;
  out.reserve(at(rows.codes.shape[0] * rows.codes.shape[1] * dim));
  const std::uint32_t mask = (1u << rows.bits) - 1;
  for (std::int64_t row = 0, at0 = 0; row < rows.codes.shape[0]; ++row)
    for (std::int64_t head = 0; head < rows.codes.shape[1]; ++head)
      for (std::int64_t word = 0; word < words; ++word) {
        const std::int64_t place = rows.codes.offset + row * rows.codes.strides[0] + head * rows.codes.strides[1] +
            word * rows.codes.strides[2];
        std::uint32_t packed = 0;
        std::memcpy(&packed, rows.codes.bytes.data() + place * 4, sizeof packed);
        for (std::int64_t i = 0; i < perWord; ++i, ++at0) {
          const auto code = static_cast<float>(packed >> (i * rows.bits) & mask);
          out.push_back(scale[at(at0 / rows.group)] * code + low[at(at0 / rows.group)]);
        }
      }
  return out;
}

class PromptCache {
 public:
  PromptCache(const ArrayFile& file, const ForeignAsk& ask) : m_file(file), m_ask(ask) {}

  Result<ForeignCache> read() {
    for (std::int32_t i = 0; !classOf(i).empty(); ++i) KV_TRY(addLayer(i, classOf(i)));
    if (m_out.layers.empty())
      return unreadForeign(m_file.path, "no layer has rows of keys and values",
                           "save a cache of a model with attention");
    return std::move(m_out);
  }

  std::string classOf(std::int32_t layer) const { return text((since() ? "1." : "2.") + numberText(layer)); }

 private:
  bool since() const { return text("1.0").ends_with("Cache"); }

  std::string text(const std::string& name) const {
    const auto found = m_file.facts.find(name);
    return found != m_file.facts.end() && found->second.is_string() ? found->second.get<std::string>() : "";
  }

  Error badNumber(const std::string& name) const {
    return badForeign(m_file.path, "number " + name, "is missing, or is no count");
  }

  Result<std::vector<std::int32_t>> arrayNumbers(const std::string& name) const {
    const ForeignArray* found = m_file.find(name);
    if (!found) return badNumber(name);
    return foreignNumbers(*found, m_file.path, name);
  }

  /// `other` where files of this age do not have the number.
  Result<std::int64_t> numberOf(std::int32_t layer, CacheNumber place, std::int64_t other = 0) const {
    if (since()) {
      const std::string name = numberText(layer) + "." + std::to_string(place.since);
      const auto all = KV_TRY(arrayNumbers(name));
      if (all.size() != 1 || all[0] < 0 || all[0] > 1 << 30) return badNumber(name);
      return std::int64_t{all[0]};
    }
    if (place.before < 0) return other;
    const std::string name = "0." + numberText(layer) + "." + std::to_string(place.before), value = text(name);
    std::int64_t out = 0;
    const auto [rest, failed] = std::from_chars(value.data(), value.data() + value.size(), out);
    if (failed != std::errc() || rest != value.data() + value.size() || out < 0 || out > 1 << 30)
      return badNumber(name);
    return out;
  }

  Status addLayer(std::int32_t number, const std::string& name) {
    const std::string front = numberText(number) + ".", where = "layer " + numberText(number);
    const ForeignArray *keys = m_file.find(front + "0"), *values = m_file.find(front + "1");
    if (name == "QuantizedKVCache") return addPacked(number);
    if (!name.ends_with("KVCache") || !keys || !values) {
      m_out.notes.push_back(where + " (" + plainForeign(name) + ") has no rows and was passed over");
      return ok();
    }
    const ForeignArray allKeys = KV_TRY(rowsFirst(*keys, where)), allValues = KV_TRY(rowsFirst(*values, where));
    if (allKeys.shape[0] != allValues.shape[0])
      return badForeign(m_file.path, where, "other numbers of keys and of values");
    const RowPlaces rows = KV_TRY(rowPlaces(number, name, allKeys.shape[0]));
    if (rows.begin < 0 || rows.begin > rows.end || rows.end > allKeys.shape[0])
      return badForeign(m_file.path, where, "its numbers do not fit its rows");
    if (rows.begin == rows.end) {
      m_out.notes.push_back(where + " has no rows");
      return ok();
    }
    const std::int64_t length = rows.end - rows.begin;
    ForeignLayer layer = KV_TRY(foreignLayer(number, {allKeys.part(0, rows.begin, length)},
                                             {allValues.part(0, rows.begin, length)}, m_file.path, where));
    for (std::int64_t row = 0; rows.known && row < length; ++row)
      layer.positions.push_back(static_cast<std::int32_t>(rows.position(row)));
    return keep(std::move(layer));
  }

  Status keep(ForeignLayer layer) {
    layer.inPart = static_cast<std::int32_t>(m_out.layers.size());
    m_out.layers.push_back(std::move(layer));
    return ok();
  }

  /// [batch, heads, rows, ..] as [rows, heads, ..].
  Result<ForeignArray> rowsFirst(const ForeignArray& array, const std::string& where) {
    if (array.axes() != 4 || std::ranges::count(array.shape, 0) > 0)
      return badForeign(m_file.path, where,
                        "shape " + shapeText(array.shape) + ", expected [batch, heads, rows, head size]");
    if (array.shape[1] < 1 << 20) m_out.heads = static_cast<std::int32_t>(array.shape[1]);
    m_sequence = KV_TRY(foreignSequence(array.shape[0], m_ask, m_file.path));
    return array.place(0, m_sequence).reordered({1, 0, 2});
  }

  /// Rows that are used, and their positions. A rotating cache keeps its first rows and has a ring behind them.
  struct RowPlaces {
    std::int64_t begin = 0, end = 0;
    std::int64_t first = 0;                     // position of the first row
    std::int64_t kept = 0, seen = 0, next = 0;  // of a ring that has turned: positions seen, place of the next row
    bool known = true;

    std::int64_t position(std::int64_t row) const {
      if (seen <= end || row < kept) return first + row;
      return row < next ? seen - next + row : seen - next + row - (end - kept);
    }
  };

  Result<RowPlaces> rowPlaces(std::int32_t layer, const std::string& name, std::int64_t rows) const {
    RowPlaces out{.end = rows};
    if (name == "RotatingKVCache") {
      out.kept = KV_TRY(numberOf(layer, kRingKept));
      out.seen = KV_TRY(numberOf(layer, kRingOffset));
      out.next = KV_TRY(numberOf(layer, kRingNext));
      out.end = std::min(rows, out.seen);
      if (out.next > rows || out.kept > rows) out.end = -1;
    } else if (name == "ChunkedKVCache") {
      out.first = KV_TRY(numberOf(layer, kChunkStart));
      out.end = KV_TRY(numberOf(layer, kOffset, out.first + rows)) - out.first;
    } else if (name == "KVCache") {
      out.end = KV_TRY(numberOf(layer, kOffset, rows));
    } else if (name == "BatchKVCache") {
      const auto padding = KV_TRY(arrayNumbers(numberText(layer) + "." + std::to_string(kBatchPadding)));
      out.begin = at(m_sequence) < padding.size() ? padding[at(m_sequence)] : -1;
      out.end = KV_TRY(numberOf(layer, kBatchRows, rows));
    } else if (name != "ConcatenateKVCache") {
      out.known = false;
    }
    return out;
  }

  Status addPacked(std::int32_t number) {
    const std::string where = "layer " + numberText(number);
    ForeignLayer layer;
    layer.layer = number;
    const std::int64_t group = KV_TRY(numberOf(number, kPackedGroup)), bits = KV_TRY(numberOf(number, kPackedBits)),
                       used = KV_TRY(numberOf(number, kPackedOffset));
    if ((bits != 2 && bits != 4 && bits != 8) || group == 0)
      return badForeign(m_file.path, where, "codes of " + numberText(bits) + " bits", "quantise to 2, 4 or 8 bits");
    for (const int side : {0, 1}) {
      PackedRows rows{.codes = {}, .scales = {}, .least = {}, .bits = bits, .group = group};
      ForeignArray* const parts[] = {&rows.codes, &rows.scales, &rows.least};
      for (int i = 0; i < 3; ++i) {
        const ForeignArray* found =
            m_file.find(numberText(number) + "." + std::to_string(side) + "." + std::to_string(i));
        if (!found) return badForeign(m_file.path, where, "codes, scales or least values are missing");
        const ForeignArray all = KV_TRY(rowsFirst(*found, where));
        if (used == 0 || used > all.shape[0]) return badForeign(m_file.path, where, "its numbers do not fit its rows");
        *parts[i] = all.part(0, 0, used);
      }
      ForeignRows& out = side == 0 ? layer.keys : layer.values;
      out = KV_TRY(packedRows(rows, where));
      if (side == 1 && rows.codes.shape[0] != layer.rows)
        return badForeign(m_file.path, where, "other numbers of keys and of values");
      layer.rows = rows.codes.shape[0];
    }
    for (std::int32_t row = 0; row < layer.rows; ++row) layer.positions.push_back(row);
    return keep(std::move(layer));
  }

  Result<ForeignRows> packedRows(const PackedRows& rows, const std::string& where) const {
    std::int64_t groups = 0;
    if (rows.codes.element != Element::U32 || rows.dim() % rows.group != 0 || rows.scales.shape != rows.least.shape ||
        rows.scales.shape[0] != rows.codes.shape[0] || rows.scales.shape[1] != rows.codes.shape[1] ||
        __builtin_mul_overflow(rows.scales.shape[2], rows.group, &groups) || groups != rows.dim())
      return badForeign(m_file.path, where, "codes and scales do not fit each other");
    const ForeignRows scales = KV_TRY(foreignRows({rows.scales}, m_file.path, where));
    const ForeignRows least = KV_TRY(foreignRows({rows.least}, m_file.path, where));
    return ForeignRows{"q" + numberText(rows.bits) + "/" + numberText(rows.group), rows.codes.shape[1] * rows.dim(),
                       [rows, scales, least] { return unpacked(rows, scales, least); }};
  }

  const ArrayFile& m_file;
  const ForeignAsk& m_ask;
  ForeignCache m_out;
  std::int64_t m_sequence = 0;
};

bool recognisesPromptCache(const std::string& path) {
  if (!isArrayFile(path)) return false;
  const auto file = openArrayFile(path);
  return file && PromptCache(*file, {}).classOf(0).ends_with("Cache");
}

Result<ForeignCache> openPromptCache(const std::string& path, const ForeignAsk& ask) {
  const ArrayFile file = KV_TRY(openArrayFile(path));
  return PromptCache(file, ask).read();
}

}  // namespace

ForeignImporter mlxImporter() {
  return ForeignImporter{"mlx-lm", "prompt caches of mlx_lm.models.cache.save_prompt_cache", recognisesPromptCache,
                         openPromptCache};
}

}  // namespace kvlab
