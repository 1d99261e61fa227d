// SPDX-License-Identifier: Apache-2.0
// A weight as the kernels take it: where it lies, its type, its shape. Owns nothing; whoever made
// the view keeps the bytes alive. Any alignment. Values; any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/ops/weight.h"

namespace kvlab {

struct TensorView {
  const void* data = nullptr;  // dense, row major; null = absent
  kernels::DType dtype = kernels::DType::f32;
  std::vector<std::int64_t> shape;  // slowest dimension first

  explicit operator bool() const { return data != nullptr; }
  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    return n;
  }
  /// Size in bytes. It includes the scales [out] that lie behind the codes of a matrix [out, in].
  std::int64_t bytes() const {
    return kernels::dtypeHasScale(dtype) ? scalesAt() + 4 * shape[0] : kernels::dtypeRowBytes(dtype, elements());
  }
  const float* scales() const {
    return kernels::dtypeHasScale(dtype)
        ? reinterpret_cast<const float*>(static_cast<const std::byte*>(data) + scalesAt())
        : nullptr;
  }
  /// The tensor as a weight of ops; it must be a matrix [out, in].
  kernels::Weight weight() const { return {data, dtype, scales(), shape[0], shape[1]}; }

 private:
  std::int64_t scalesAt() const { return (elements() * kernels::dtypeBytes(dtype) + 3) / 4 * 4; }
};

/// The values of a tensor as f32, [elements]; empty for an absent one, and for types with scales beside the codes.
std::vector<float> widened(const TensorView& tensor);

/// "[32, 64]"
std::string shapeText(const std::vector<std::int64_t>& shape);

}  // namespace kvlab
