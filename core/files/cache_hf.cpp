// SPDX-License-Identifier: Apache-2.0
// Reads the Hugging Face forms: manifest, tensors, and rows with their keys unrotated.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/files/cache_file.h"
#include "core/files/cache_rounding.h"
#include "core/files/key_rotation.h"
#include "kernels/scalar_convert.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr std::int64_t kBlock = 64;  // rows unrotated at a time

float valueAt(const TensorView& tensor, std::int64_t i) {
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.data) + i * kernels::dtypeBytes(tensor.dtype);
  if (tensor.dtype == kernels::DType::f32) {
    float value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return tensor.dtype == kernels::DType::f16 ? kernels::halfToFloat(bits) : kernels::bf16ToFloat(bits);
}

bool fits(kernels::DType type, float value) {
  if (type == kernels::DType::f16) return std::isfinite(kernels::halfToFloat(kernels::floatToHalf(value)));
  if (type == kernels::DType::bf16) return std::isfinite(kernels::bf16ToFloat(kernels::floatToBf16(value)));
  return std::isfinite(value);
}

class HfReader {
 public:
  HfReader(const Safetensors& file, const json& manifest, const std::string& path, const CacheTarget& target)
      : m_file(file), m_manifest(manifest), m_path(path), m_target(target) {}

  Result<CacheImport> read() {
    KV_TRY(readIds());
    KV_TRY(readTensors());
    for (const CacheLayer layer : idRange<CacheLayer>(0, m_rows.rotated.size())) KV_TRY(checkValues(layer));
    return std::move(m_rows);
  }

 private:
  std::int64_t length() const { return static_cast<std::int64_t>(m_rows.tokens.size()); }

  Status readIds() {
    const auto ids = KV_TRY(indexList(m_manifest, "input_ids", m_target.config.vocab, m_path));
    auto positions = KV_TRY(indexList(m_manifest, "position_ids", kNumbersEnd, m_path));
    if (ids.empty()) return badCache(m_path, "input_ids is empty", "input_ids");
    if (ids.size() != positions.size())
      return badCache(
          m_path, std::to_string(positions.size()) + " position_ids for " + std::to_string(ids.size()) + " input_ids",
          "position_ids");
    for (std::int32_t id : ids) m_rows.tokens.emplace_back(id);
    m_rows.phases = std::move(positions);
    KV_TRY(readHeld());
    for (const CacheLayer layer : idRange<CacheLayer>(0, m_target.keep.size()))
      if (m_target.keep[at(layer)] == 0)  // the layer has no window
        KV_TRY(checkCapacity(m_rows.heldRows(layer), m_target, m_path));
    KV_TRY(checkOrder());
    const json edited = m_manifest.value("edited", json(false));
    if (!edited.is_boolean()) return badCache(m_path, "edited is neither true nor false", "edited");
    m_rows.edited = edited.get<bool>() || !m_rows.held.empty();  // rows may have seen others that are gone
    return checkPhases(m_rows.phases, m_target, m_path);
  }

  Status readHeld() {
    if (!m_manifest.contains("rows")) return ok();
    const json& all = m_manifest["rows"];
    if (!all.is_array() || all.size() != at(m_target.config.layers))
      return badCache(m_path, "rows does not name each layer", "rows");
    for (const json& one : all) {
      auto rows = KV_TRY(indexList({{"rows", one}}, "rows", length(), m_path));
      if (std::ranges::adjacent_find(rows, std::greater_equal()) != rows.end())
        return badCache(m_path, "rows of layer " + std::to_string(m_rows.held.size()) + " do not ascend", "rows");
      m_rows.held.push_back(std::move(rows));
    }
    return ok();
  }

  Status checkOrder() const {
    const std::vector<std::int32_t>& p = m_rows.phases;
    for (std::size_t i = 1; i < p.size(); ++i)
      if (p[i] <= p[i - 1])
        return badCache(m_path, "position_ids[" + std::to_string(i) + "] is not above the one before it",
                        "position_ids");
    if (m_target.position == PositionMode::Absolute || p.back() + std::int64_t{1} == length()) return ok();
    return Error("bad_positions", "cannot use " + m_path,
                 "its positions end at " + std::to_string(p.back()) + " for " + std::to_string(p.size()) +
                     " rows; this session reads rows at positions 0 .. " + std::to_string(p.size() - 1),
                 "open the session with \"position\": \"absolute\", which keeps the gaps", "position_ids", p.back());
  }

  Status readTensors() {
    const json word = m_manifest.value("dtype", json());
    const auto element = word == "float32" ? std::optional(Element::F32)
        : word == "float16"                ? std::optional(Element::F16)
        : word == "bfloat16"               ? std::optional(Element::BF16)
                                           : std::nullopt;
    if (!element) return badCache(m_path, "dtype is none of float32, float16, bfloat16", "dtype");
    for (int layer = 0; layer < m_target.config.layers; ++layer) {
      CacheImport::Rotated pair;
      for (const char* part : {"key", "value"}) {
        const std::string name = "past_key_values." + std::to_string(layer) + "." + part;
        auto view = KV_TRY(readTensor(name, *element, m_rows.heldRows(CacheLayer(layer))));
        (*part == 'k' ? pair.key : pair.value) = std::move(view);
      }
      m_rows.rotated.push_back(std::move(pair));
    }
    m_rows.rounded = KV_TRY(roundedRows(m_manifest, m_path, m_target, m_rows.rotated.front().key.dtype));
    const std::size_t want = 2 * m_rows.rotated.size();
    if (m_file.tensors().size() != want)
      return badCache(
          m_path,
          std::to_string(m_file.tensors().size()) + " tensors, the model's layers make " + std::to_string(want));
    return ok();
  }

  Result<TensorView> readTensor(const std::string& name, Element element, std::int64_t rows) const {
    const FileTensor* tensor = m_file.find(name);
    if (!tensor) return badCache(m_path, "tensor \"" + name + "\" is missing", name);
    const std::vector<std::int64_t> shape = {1, m_target.config.kvHeads, rows, m_target.config.headDim};
    if (tensor->shape != shape)
      return badCache(m_path,
                      "tensor \"" + name + "\" has shape " + shapeText(tensor->shape) + ", expected " +
                          shapeText(shape) + " = [1, kv_heads, rows of the layer, head_dim]",
                      name);
    if (tensor->element != element)
      return badCache(m_path,
                      "tensor \"" + name + "\" is " + std::string(kvlab::name(tensor->element)) +
                          ", the manifest says " + std::string(kvlab::name(element)),
                      name);
    return tensor->view();
  }

  /// Values must be finite, both in the file and after conversion to the row format.
  Status checkValues(CacheLayer layer) const {
    const auto& [key, value] = m_rows.rotated[at(layer)];
    for (const TensorView* tensor : {&key, &value})
      for (std::int64_t i = 0; i < tensor->elements(); ++i)
        if (const char* fault = faultOf(valueAt(*tensor, i))) return badValue(layer, tensor == &key, i, fault);
    const ModelConfig& c = m_target.config;
    const kernels::RowFormat& format = m_target.formats[at(layer)];
    const std::int64_t width = std::int64_t{c.kvHeads} * c.headDim;
    std::vector<float> k(at(kBlock * width)), v(k.size());
    const std::int64_t rows = m_rows.heldRows(layer);
    for (std::int64_t begin = 0; begin < rows; begin += kBlock) {
      const std::int64_t n = std::min(kBlock, rows - begin);
      unrotatedRows(m_rows, c, layer, begin, n, k.data(), v.data());
      for (std::int64_t i = 0; i < n * width; ++i) {
        const bool goodKey = fits(format.k, k[at(i)]);
        if (goodKey && fits(format.v, v[at(i)])) continue;
        const std::int64_t row = begin + i / width, x = i % width;
        return badValue(layer, !goodKey, (x / c.headDim * rows + row) * c.headDim + x % c.headDim,
                        "does not fit the session's row type");
      }
    }
    return ok();
  }

  Status badValue(CacheLayer layer, bool key, std::int64_t i, const std::string& why) const {
    const std::string name = "past_key_values." + std::to_string(layer.value()) + (key ? ".key" : ".value");
    const std::int64_t dim = m_target.config.headDim, rows = m_rows.heldRows(layer);
    return badCache(m_path,
                    "tensor \"" + name + "\": value [0, " + std::to_string(i / dim / rows) + ", " +
                        std::to_string(i / dim % rows) + ", " + std::to_string(i % dim) + "] " + why,
                    name);
  }

  const Safetensors& m_file;
  const json& m_manifest;
  const std::string& m_path;
  const CacheTarget& m_target;
  CacheImport m_rows;
};

}  // namespace

Result<CacheImport> parseHf(const Safetensors& file, const json& manifest, const std::string& path,
                            const CacheTarget& target) {
  return HfReader(file, manifest, path, target).read();
}

void unrotatedRows(const CacheImport& rows, const ModelConfig& config, CacheLayer layer, std::int64_t begin,
                   std::int64_t n, float* k, float* v) {
  const std::int64_t reach = rows.phases.empty() ? 0 : std::int64_t{rows.phases.back()} + 1;
  const KeyRotation rotation(config, Layer(layer.value()), reach);
  const auto& [key, value] = rows.rotated[at(layer)];
  const std::int64_t length = rows.heldRows(layer);
  const std::int64_t dim = config.headDim, width = config.kvHeads * dim;
  std::vector<double> row(at(width));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t place = (x / dim * length + begin + i) * dim + x % dim;
      row[at(x)] = valueAt(key, place);
      v[i * width + x] = valueAt(value, place);
    }
    rotation.unrotate(rows.phases[at(rows.heldAt(layer, begin + i))], config.kvHeads, row.data());
    for (std::int64_t x = 0; x < width; ++x) k[i * width + x] = static_cast<float>(row[at(x)]);
  }
}

}  // namespace kvlab
