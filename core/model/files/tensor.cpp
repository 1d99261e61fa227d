// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/tensor.h"

#include <cstring>

#include "kernels/block_codes.h"
#include "kernels/scalar_convert.h"

namespace kvlab {
namespace {

template <class Raw, class Convert>
void widenTo(std::vector<float>& out, const void* data, Convert convert) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < out.size(); ++i) {
    Raw raw;
    std::memcpy(&raw, bytes + i * sizeof(Raw), sizeof(Raw));
    out[i] = convert(raw);
  }
}

}  // namespace

std::vector<float> widened(const TensorView& tensor) {
  if (!tensor || kernels::dtypeHasScale(tensor.dtype)) return {};
  std::vector<float> out(static_cast<std::size_t>(tensor.elements()));
  if (kernels::dtypeInBlocks(tensor.dtype)) {
    kernels::withBlockType(tensor.dtype, [&](auto type) {
      kernels::readBlocks<type()>(static_cast<const std::uint8_t*>(tensor.data), out.data(), tensor.elements());
    });
    return out;
  }
  switch (tensor.dtype) {
    case kernels::DType::f16: widenTo<std::uint16_t>(out, tensor.data, kernels::halfToFloat); break;
    case kernels::DType::bf16: widenTo<std::uint16_t>(out, tensor.data, kernels::bf16ToFloat); break;
    default: std::memcpy(out.data(), tensor.data, out.size() * sizeof(float));
  }
  return out;
}

std::string shapeText(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace kvlab
