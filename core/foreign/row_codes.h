// SPDX-License-Identifier: Apache-2.0
// Values of rows as files of other programs store them. Pure; any thread.
#pragma once
#include <cstddef>
#include <span>

#include "kernels/dtype.h"

namespace kvlab {

/// Writes values as f32, f16, bf16, q8_0 or q4_0, dtypeRowBytes() bytes; the codes in blocks are those of ggml's
/// reference. A type in blocks takes whole blocks of values. False if the type cannot hold a value.
bool encodeValues(kernels::DType type, std::span<const float> values, std::byte* out);

/// Multiplies every `size` values, a power of two, by the orthonormal Hadamard matrix of that size in natural order,
/// which is its own inverse.
void hadamard(std::span<float> values, std::size_t size);

}  // namespace kvlab
