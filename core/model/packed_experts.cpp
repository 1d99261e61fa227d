// SPDX-License-Identifier: Apache-2.0
#include "core/model/packed_experts.h"

#include <array>
#include <cstring>

#include "core/model/weight_memory.h"

namespace kvlab {
namespace {

constexpr std::int64_t kBlockCodes = 16, kBlockValues = 32, kBlockBytes = 17;

std::byte* bytesOf(const TensorView& view) { return static_cast<std::byte*>(const_cast<void*>(view.data)); }

/// One block: the file has values 2i and 2i + 1 in byte i, the type mxfp4 has i and i + 16.
void reorderCodes(const std::byte* from, std::byte exponent, std::byte* to) {
  std::array<unsigned, kBlockValues> code{};
  for (std::size_t i = 0; i < kBlockCodes; ++i) {
    code[2 * i] = std::to_integer<unsigned>(from[i]) & 15;
    code[2 * i + 1] = std::to_integer<unsigned>(from[i]) >> 4;
  }
  to[0] = exponent;
  for (std::size_t i = 0; i < kBlockCodes; ++i)
    to[1 + i] = static_cast<std::byte>(code[i] | code[i + kBlockCodes] << 4);
}

}  // namespace

std::optional<PackedExperts::Part> PackedExperts::partOf(const std::string& name) {
  constexpr std::string_view kExperts = ".mlp.experts.";
  const auto at = name.find(kExperts);
  if (at == std::string::npos) return {};
  const std::string front = name.substr(0, at + kExperts.size()), rest = name.substr(front.size());
  const bool isBias = rest.ends_with(".bias");
  const std::string place = rest.substr(0, rest.rfind('.')), end = isBias ? "_bias" : "";
  if (place == "gate_proj") return Part{front + "gate_up_proj" + end, 0, 2, isBias};
  if (place == "up_proj") return Part{front + "gate_up_proj" + end, 1, 2, isBias};
  if (place == "down_proj") return Part{front + "down_proj" + end, 0, 1, isBias};
  return {};
}

TensorView PackedExperts::made(kernels::DType type, std::vector<std::int64_t> shape) {
  TensorView out{nullptr, type, std::move(shape)};
  m_memory.push_back(weightMemory(static_cast<std::size_t>(out.bytes())));
  out.data = m_memory.back().get();
  return out;
}

/// [experts, inputs, outputs] -> [experts, outputs of the part, inputs]; a bias has no inputs.
TensorView PackedExperts::values(const FileTensor& from, const Part& part) {
  const TensorView whole = from.view();
  if (!whole || from.shape.size() != (part.bias ? 2 : 3)) return {};
  const std::int64_t inputs = part.bias ? 1 : from.shape[1], outputs = from.shape.back(), rows = outputs / part.step;
  std::vector<std::int64_t> shape{from.shape[0], rows};
  if (!part.bias) shape.push_back(inputs);
  const TensorView out = made(whole.dtype, std::move(shape));
  if (!out) return out;
  const auto size = static_cast<std::size_t>(kernels::dtypeBytes(whole.dtype));
  std::byte* to = bytesOf(out);
  for (std::int64_t expert = 0; expert < from.shape[0]; ++expert)
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t input = 0; input < inputs; ++input, to += size) {
        const std::int64_t place = (expert * inputs + input) * outputs + part.first + row * part.step;
        std::memcpy(to, from.bytes.data() + static_cast<std::size_t>(place) * size, size);
      }
  return out;
}

/// [experts, outputs, blocks, 16] and [experts, outputs, blocks] -> [experts, outputs of the part, inputs]
TensorView PackedExperts::codes(const FileTensor& blocks, const FileTensor& scales, const Part& part) {
  const std::vector<std::int64_t>& s = blocks.shape;
  const bool fits = blocks.element == Element::U8 && scales.element == Element::U8 && s.size() == 4 &&
      s[3] == kBlockCodes && scales.shape == std::vector<std::int64_t>(s.begin(), s.begin() + 3);
  if (!fits) return {};
  const std::int64_t rows = s[1] / part.step;
  const TensorView out = made(kernels::DType::mxfp4, {s[0], rows, s[2] * kBlockValues});
  if (!out) return out;
  std::byte* to = bytesOf(out);
  for (std::int64_t i = 0; i < s[0] * rows; ++i) {
    const std::int64_t row = i / rows * s[1] + part.first + i % rows * part.step;
    for (std::int64_t block = row * s[2]; block < (row + 1) * s[2]; ++block, to += kBlockBytes)
      reorderCodes(blocks.bytes.data() + block * kBlockCodes, scales.bytes[static_cast<std::size_t>(block)], to);
  }
  return out;
}

std::optional<TensorView> PackedExperts::find(const std::string& name) {
  const auto part = partOf(name);
  if (!part) return {};
  if (const FileTensor* plain = m_files->find(part->file)) return values(*plain, *part);
  const FileTensor *blocks = m_files->find(part->file + "_blocks"), *scales = m_files->find(part->file + "_scales");
  if (!blocks || !scales) return {};
  return codes(*blocks, *scales, *part);
}

}  // namespace kvlab
