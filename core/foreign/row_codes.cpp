// SPDX-License-Identifier: Apache-2.0
#include "core/foreign/row_codes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/scalar_convert.h"

namespace kvlab {
namespace {

using kernels::DType;
constexpr std::size_t kBlockValues = 32;  // of q8_0 and q4_0

bool putHalf(float value, std::byte* out) {
  const std::uint16_t bits = kernels::floatToHalf(value);
  std::memcpy(out, &bits, sizeof bits);
  return std::isfinite(kernels::halfToFloat(bits));
}

bool putBf16(float value, std::byte* out) {
  const std::uint16_t bits = kernels::floatToBf16(value);
  std::memcpy(out, &bits, sizeof bits);
  return std::isfinite(kernels::bf16ToFloat(bits));
}

/// The value of the largest magnitude, with its sign.
float largest(std::span<const float> x) {
  return *std::ranges::max_element(x, {}, [](float value) { return std::abs(value); });
}

bool putQ80(std::span<const float> x, std::byte* out) {
  const float scale = std::abs(largest(x)) / 127, times = scale != 0 ? 1 / scale : 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto code = static_cast<std::int8_t>(std::clamp(std::round(x[i] * times), -127.0f, 127.0f));
    std::memcpy(out + 2 + i, &code, 1);
  }
  return putHalf(scale, out);
}

/// Values i and i + 16 share a byte.
bool putQ40(std::span<const float> x, std::byte* out) {
  const float scale = largest(x) / -8, times = scale != 0 ? 1 / scale : 0;
  const auto code = [&](std::size_t i) {
    return static_cast<unsigned>(std::clamp(std::floor(x[i] * times + 8.5f), 0.0f, 15.0f));
  };
  for (std::size_t i = 0; i < x.size() / 2; ++i)
    out[2 + i] = static_cast<std::byte>(code(i) | code(i + x.size() / 2) << 4);
  return putHalf(scale, out);
}

}  // namespace

bool encodeValues(DType type, std::span<const float> values, std::byte* out) {
  bool good = std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
  if (!good) return false;  // codes of such values mean nothing
  if (type == DType::f32) {
    std::memcpy(out, values.data(), values.size_bytes());
  } else if (kernels::dtypeInBlocks(type)) {
    const std::int64_t bytes = kernels::dtypeBlock(type).bytes;
    for (; values.size() >= kBlockValues; values = values.subspan(kBlockValues), out += bytes)
      good &= type == DType::q8_0 ? putQ80(values.first(kBlockValues), out) : putQ40(values.first(kBlockValues), out);
  } else {
    for (const float value : values) {
      good &= type == DType::f16 ? putHalf(value, out) : putBf16(value, out);
      out += kernels::dtypeBytes(type);
    }
  }
  return good;
}

void hadamard(std::span<float> values, std::size_t size) {
  const float norm = 1 / std::sqrt(static_cast<float>(size));
  for (; values.size() >= size; values = values.subspan(size)) {
    const std::span<float> one = values.first(size);
    for (std::size_t step = 1; step < size; step *= 2)
      for (std::size_t i = 0; i < size; ++i) {
        if ((i & step) != 0) continue;
        const float a = one[i], b = one[i + step];
        one[i] = a + b;
        one[i + step] = a - b;
      }
    for (float& value : one) value *= norm;
  }
}

}  // namespace kvlab
