// SPDX-License-Identifier: Apache-2.0
// llama.cpp's sequence file, versions 3 and 4, all numbers little-endian:
//   u32 'ggsq', u32 version, u32 n, i32 ids[n], then the parts of the cache
// A cache whose layers slide has two parts, first the layers that see everything, then those with a window; others have
// one. A part:
//   u32 streams = 1, u32 cells, for each cell {i32 position, u32 sequences = 1, i32 sequence = 0}
//   u32 transposed, u32 layers
//   of version 4: u32 values of a block by which a Hadamard matrix turns keys, u32 the same of values, 0 = they are not
//   for each layer {i32 type, u64 bytes of a row, rows of keys}
//   for each layer {i32 type, u64 bytes of a row, rows of values},
//     or transposed, as a reader without flash attention has them: {i32 type, u32 bytes of a value, u32 width, columns}
#include <algorithm>
#include <cstring>

#include "core/api/part_file.h"
#include "core/foreign/outgoing_writers.h"
#include "core/foreign/row_codes.h"
#include "core/model/decoder/frequencies.h"

namespace kvlab {
namespace {

using kernels::DType;
constexpr std::size_t kRowsAtATime = 256;

/// The cache that llama.cpp makes for a family.
struct LlamaFamily {
  std::string_view name;
  bool neighbours = false;  // rotation pairs neighbours
  bool slides = false;      // layers with a window have a part of their own
};
constexpr LlamaFamily kLlamaFamilies[] = {{"gemma2", false, true},
                                          {"gemma3", false, true},
                                          {"gpt_oss", false, true},
                                          {"llama", true},
                                          {"ministral3", true},
                                          {"mistral", true},
                                          {"mixtral", true},
                                          {"olmo2"},
                                          {"olmo3", false, true},
                                          {"phi3"},
                                          {"qwen2"},
                                          {"qwen3"},
                                          {"qwen3_moe"},
                                          {"smollm3", true}};

/// Number of a type in the file.
std::int32_t ggmlType(DType type) {
  switch (type) {
    case DType::f16: return 1;
    case DType::q4_0: return 2;
    case DType::q8_0: return 8;
    case DType::bf16: return 30;
    default: return 0;  // f32
  }
}

class LlamaWriter {
 public:
  LlamaWriter(const OutgoingRows& rows, const OutgoingWish& wish, const std::string& path)
      : m_rows(rows),
        m_config(rows.config),
        m_type(wish.type),
        m_flash(wish.flash),
        m_version(wish.version),
        m_file(path) {}

  Result<std::int64_t> write() {
    KV_TRY(check());
    std::vector<std::vector<std::int32_t>> parts(2);
    for (std::int32_t layer = 0; layer < m_config.layers; ++layer) parts[window(layer) > 0 ? 1 : 0].push_back(layer);
    if (parts[1].empty()) parts.pop_back();
    for (const auto& layers : parts) KV_TRY(checkPart(layers));
    put<std::uint32_t>(0x67677371);
    put(turns() ? std::uint32_t{4} : std::uint32_t{3});
    put(static_cast<std::uint32_t>(m_rows.ids.size()));
    for (const TokenId id : m_rows.ids) put<std::int32_t>(id.value());
    for (const auto& layers : parts) KV_TRY(writePart(layers));
    KV_TRY(m_file.publish());
    return m_bytes;
  }

 private:
  /// 0 = the layer sees everything, or llama.cpp computes the family without windows.
  std::int32_t window(std::int32_t layer) const {
    return m_family->slides && !m_config.windowPerLayer.empty() ? m_config.windowPerLayer[at(layer)] : 0;
  }
  std::size_t width() const { return at(m_config.kvHeads) * at(m_config.headDim); }

  Status check() {
    const auto found = std::ranges::find(kLlamaFamilies, std::string_view(m_config.type), &LlamaFamily::name);
    if (found == std::end(kLlamaFamilies))
      return notSaved("unsupported", "llama.cpp has no model of the family " + m_config.type, "use another form",
                      "form", "llama_cpp");
    m_family = &*found;
    for (const auto& rows : m_rows.layers)
      for (const OutgoingRow& row : rows) m_newest = std::max(m_newest, row.position);
    if (m_family->neighbours) {
      ModelConfig paired = m_config;
      paired.interleavedRotary = true;
      m_order = neighbourOrder(paired);
    }
    const auto block = kernels::dtypeBlock(m_type).values;
    if (m_config.headDim % block != 0)
      return notSaved("unsupported",
                      std::string(kernels::dtypeName(m_type)) + " has blocks of " + std::to_string(block) +
                          " values, and a head has " + std::to_string(m_config.headDim),
                      "use f16 or f32", "type", kernels::dtypeName(m_type));
    if (!m_flash && block > 1)
      return notSaved("unsupported",
                      std::string("without flash attention llama.cpp has no values in ") + kernels::dtypeName(m_type),
                      "use f16, or flash", "flash", false);
    return ok();
  }

  /// The rows of a layer that its reader keeps: those that the newest token's query sees, or all.
  std::span<const OutgoingRow> held(std::int32_t layer) const {
    std::span<const OutgoingRow> rows = m_rows.layers[at(layer)];
    const std::int32_t seen = window(layer);
    while (seen > 0 && !rows.empty() && m_newest - rows.front().position >= seen) rows = rows.subspan(1);
    return rows;
  }

  /// All layers of a part have the same cells.
  Status checkPart(const std::vector<std::int32_t>& layers) const {
    for (const std::int32_t layer : layers)
      if (!std::ranges::equal(held(layer), held(layers.front())))
        return notSaved("ragged",
                        "layer " + std::to_string(layer) + " has other rows than layer " +
                            std::to_string(layers.front()) + ", and in a sequence file both have the same cells",
                        "save with form hf_dynamic or native, or evict by all layers together", "form", "llama_cpp");
    return ok();
  }

  Status writePart(const std::vector<std::int32_t>& layers) {
    const auto cells = layers.empty() ? std::span<const OutgoingRow>() : held(layers.front());
    put<std::uint32_t>(1);
    put(static_cast<std::uint32_t>(cells.size()));
    for (const OutgoingRow& cell : cells) {
      put(cell.position);
      put<std::uint32_t>(1);
      put<std::int32_t>(0);
    }
    if (cells.empty()) return ok();  // nothing more is written of such a part
    put<std::uint32_t>(m_flash ? 0 : 1);
    put(static_cast<std::uint32_t>(layers.size()));
    if (turns())
      for (const bool keys : {true, false}) put(static_cast<std::uint32_t>(turnedBlock(keys)));
    for (const bool keys : {true, false})
      for (const std::int32_t layer : layers) KV_TRY(writeRows(layer, cells, keys));
    return ok();
  }

  Status writeRows(std::int32_t layer, std::span<const OutgoingRow> cells, bool keys) {
    const bool columns = !keys && !m_flash;
    const std::int64_t rowBytes = kernels::dtypeRowBytes(m_type, static_cast<std::int64_t>(width()));
    put(ggmlType(m_type));
    if (columns) {
      put(static_cast<std::uint32_t>(kernels::dtypeBytes(m_type)));
      put(static_cast<std::uint32_t>(width()));
    } else {
      put(static_cast<std::uint64_t>(rowBytes));
    }
    const std::size_t first = m_rows.layers[at(layer)].size() - cells.size();  // a window keeps the newest
    const std::size_t atOnce = columns ? std::max<std::size_t>(cells.size(), 1) : kRowsAtATime;
    for (std::size_t begin = 0; begin < cells.size(); begin += atOnce) {
      const std::size_t n = std::min(atOnce, cells.size() - begin);
      std::vector<float> k(n * width()), v(k.size());
      m_rows.read(layer, first + begin, n, k.data(), v.data());
      std::vector<float>& values = keys ? k : v;
      std::vector<std::byte> out(n * at(rowBytes));
      for (std::size_t i = 0; i < n; ++i) {
        const std::span<float> row = std::span(values).subspan(i * width(), width());
        turn(row, keys);
        if (!encodeValues(m_type, row, out.data() + i * at(rowBytes)))
          return notFinite(layer, cells[begin + i], m_type);
      }
      if (columns) transpose(out, n);
      append(out.data(), out.size());
    }
    return ok();
  }

  /// From the order of a checkpoint to that of llama.cpp, and its rotation of rows that are stored in blocks.
  void turn(std::span<float> row, bool keys) {
    const std::size_t dim = at(m_config.headDim);
    if (keys && !m_order.empty()) {
      std::vector<float> own(dim);
      for (std::size_t head = 0; head < row.size(); head += dim) {
        std::ranges::copy(row.subspan(head, dim), own.begin());
        for (std::size_t i = 0; i < dim; ++i) row[head + at(m_order[i])] = own[i];
      }
    }
    if (const std::size_t size = turnedBlock(keys)) hadamard(row, size);
  }

  /// Values of a block that llama.cpp turns; keys take the largest that divides a head. 0 = rows are not turned.
  std::size_t turnedBlock(bool keys) const {
    const std::size_t dim = at(m_config.headDim);
    if (!kernels::dtypeInBlocks(m_type) || dim % 64 != 0) return 0;
    std::size_t size = 64;
    while (keys && dim % (size * 2) == 0) size *= 2;
    return size;
  }
  bool turns() const { return m_version >= 4; }

  /// [rows, width] to [width, rows], of whole values.
  void transpose(std::vector<std::byte>& values, std::size_t rows) const {
    const std::size_t bytes = at(kernels::dtypeBytes(m_type)), wide = width();
    const std::vector<std::byte> own = values;
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t x = 0; x < wide; ++x)
        std::memcpy(values.data() + (x * rows + row) * bytes, own.data() + (row * wide + x) * bytes, bytes);
  }

  template <class T>
  void put(T value) {
    append(&value, sizeof value);
  }
  void append(const void* data, std::size_t size) {
    m_file.append(data, size);  // publish() tells a failure
    m_bytes += static_cast<std::int64_t>(size);
  }

  const OutgoingRows& m_rows;
  const ModelConfig& m_config;
  const DType m_type;
  const bool m_flash;
  const std::int32_t m_version;  // 0 = 3
  PartFile m_file;
  const LlamaFamily* m_family = nullptr;
  std::vector<std::int32_t> m_order;  // [headDim] place of each value of a head; empty = the same
  std::int32_t m_newest = 0;          // position
  std::int64_t m_bytes = 0;
};

}  // namespace

Result<std::int64_t> writeLlamaSequence(const OutgoingRows& rows, const OutgoingWish& wish, const std::string& path) {
  return LlamaWriter(rows, wish, path).write();
}

}  // namespace kvlab
