// SPDX-License-Identifier: Apache-2.0
// The store of vLLM's ExampleConnector: STORE/HASH/LAYER.safetensors, with HASH the MD5 of the tokens of all whole
// blocks as int64 and LAYER the name of the attention layer. A file has one tensor "kv_cache" [tokens, kv_heads, 2 *
// head_dim]: what vLLM's view of a layer, [blocks, kv_heads, rows of a block, 2 * head_dim], holds for the tokens. On
// CUDA a row is a key with its value behind it. On x86 processors the bytes of a block and head are keys [head_dim,
// rows] and behind them values [rows, head_dim], so that a row of the view is no row of one token.
#include <filesystem>

#include "core/foreign/md5.h"
#include "core/foreign/outgoing_writers.h"
#include "core/foreign/row_codes.h"
#include "core/model/files/safetensors.h"

namespace kvlab {
namespace {

enum class VllmOrder : std::uint8_t { Cuda, Cpu };
constexpr std::int32_t kCudaPage = 16, kCpuPage = 128;  // vLLM's own choice
constexpr std::int32_t kCpuUnit = 32;                   // rows that its attention on a CPU takes at a time

class VllmWriter {
 public:
  VllmWriter(const OutgoingRows& rows, const OutgoingWish& wish, VllmOrder order)
      : m_rows(rows),
        m_type(wish.type),
        m_cpu(order == VllmOrder::Cpu),
        m_page(wish.page > 0 ? wish.page
                   : m_cpu   ? kCpuPage
                             : kCudaPage) {}

  Result<std::int64_t> write(const std::string& path) {
    KV_TRY(check());
    const std::string folder = path + "/" + hash();
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed)
      return Error("bad_file", "cannot write " + folder, failed.message(), "choose a folder that can be written",
                   "path", path);
    std::int64_t bytes = 0;
    for (std::int32_t layer = 0; layer < m_rows.config.layers; ++layer)
      bytes += KV_TRY(writeLayer(layer, folder + "/" + layerName(layer) + ".safetensors"));
    return bytes;
  }

 private:
  std::size_t dim() const { return at(m_rows.config.headDim); }
  std::size_t heads() const { return at(m_rows.config.kvHeads); }

  Status check() {
    m_count = m_rows.ids.size() / at(m_page) * at(m_page);
    if (m_cpu && m_page % kCpuUnit != 0)
      return notSaved("unsupported", "on a CPU a block has a multiple of " + std::to_string(kCpuUnit) + " rows",
                      "give vLLM and this call such a block size", "page", m_page);
    if (m_count == 0)
      return notSaved("empty",
                      "vLLM takes whole blocks of " + std::to_string(m_page) + " rows, and there are " +
                          std::to_string(m_rows.ids.size()),
                      "prompt more text, or use smaller blocks", "page", m_page);
    for (std::int32_t layer = 0; layer < m_rows.config.layers; ++layer) {
      const auto& rows = m_rows.layers[at(layer)];
      for (std::size_t i = 0; i < m_count; ++i) {
        const auto place = static_cast<std::int32_t>(i);
        if (i >= rows.size() || rows[i].token != place)
          return notSaved("ragged",
                          "layer " + std::to_string(layer) + " lacks the row of token " + std::to_string(place) +
                              ", and vLLM has a row for each",
                          "save with form native or hf_dynamic, or rebuild without eviction", "form");
        if (rows[i].position != place)
          return notSaved("bad_positions",
                          "the key of token " + std::to_string(place) + " is turned by position " +
                              std::to_string(rows[i].position) + ", and vLLM counts tokens",
                          "use a session with position context, or save with form llama_cpp", "form");
      }
    }
    return ok();
  }

  std::string hash() const {
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < m_count; ++i) ids.push_back(m_rows.ids[i].value());
    return md5(std::as_bytes(std::span(ids)));
  }

  std::string layerName(std::int32_t layer) const {
    const char* inside = m_rows.config.type == "gpt_oss" ? ".attn.attn" : ".self_attn.attn";
    return "model.layers." + std::to_string(layer) + inside;
  }

  Result<std::int64_t> writeLayer(std::int32_t layer, const std::string& path) const {
    const std::size_t width = heads() * dim(), bytes = at(kernels::dtypeBytes(m_type));
    std::vector<std::byte> out(m_count * 2 * width * bytes);
    std::vector<float> k(at(m_page) * width), v(k.size());
    for (std::size_t begin = 0; begin < m_count; begin += at(m_page)) {
      m_rows.read(layer, begin, at(m_page), k.data(), v.data());
      for (std::size_t row = 0; row < at(m_page); ++row)
        for (std::size_t x = 0; x < width; ++x) {
          const auto [key, value] = placesOf(row, x / dim(), x % dim());
          const std::size_t i = row * width + x;
          std::byte* page = out.data() + begin * 2 * width * bytes;
          if (!encodeValues(m_type, {&k[i], 1}, page + key * bytes) ||
              !encodeValues(m_type, {&v[i], 1}, page + value * bytes))
            return notFinite(layer, m_rows.layers[at(layer)][begin + row], m_type);
        }
    }
    SafetensorsWriter writer;
    const auto n = [](std::size_t size) { return static_cast<std::int64_t>(size); };
    writer.add("kv_cache", elementOf(m_type), {n(m_count), n(heads()), n(2 * dim())}, out);
    KV_TRY(writer.write(path));
    return writer.bytes();
  }

  /// Places of value x of a key and of its value in a block of the file, [rows, heads, 2 * headDim].
  std::pair<std::size_t, std::size_t> placesOf(std::size_t row, std::size_t head, std::size_t x) const {
    std::size_t key = row * 2 * dim() + x, value = key + dim();  // within the block of a head
    if (m_cpu) {
      key = x * at(m_page) + row;
      value = (at(m_page) + row) * dim() + x;
    }
    const auto inFile = [&](std::size_t i) { return (i / (2 * dim()) * heads() + head) * 2 * dim() + i % (2 * dim()); };
    return {inFile(key), inFile(value)};
  }

  const OutgoingRows& m_rows;
  const kernels::DType m_type;
  const bool m_cpu;
  const std::int32_t m_page;  // rows of a block
  std::size_t m_count = 0;    // rows of all whole blocks
};

}  // namespace

Result<std::int64_t> writeVllmCpu(const OutgoingRows& rows, const OutgoingWish& wish, const std::string& path) {
  return VllmWriter(rows, wish, VllmOrder::Cpu).write(path);
}

Result<std::int64_t> writeVllmCuda(const OutgoingRows& rows, const OutgoingWish& wish, const std::string& path) {
  return VllmWriter(rows, wish, VllmOrder::Cuda).write(path);
}

}  // namespace kvlab
