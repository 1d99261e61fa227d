// SPDX-License-Identifier: Apache-2.0
#include "core/explain/row_types.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>

#include "kernels/row_quant.h"
#include "kernels/scalar_convert.h"

namespace kvlab {
namespace {

using kernels::bf16ToFloat;
using kernels::floatToBf16;
using kernels::floatToHalf;
using kernels::halfToFloat;

float asHalf(float x) { return halfToFloat(floatToHalf(x)); }

void wide(float*, int) {}
void half(float* x, int n) {
  for (int i = 0; i < n; ++i) x[i] = asHalf(x[i]);
}
void brain(float* x, int n) {
  for (int i = 0; i < n; ++i) x[i] = bf16ToFloat(floatToBf16(x[i]));
}
void fp8(float* x, int n) {
  for (int i = 0; i < n; ++i) x[i] = kernels::fp8ToFloat(kernels::floatToFp8(x[i]));
}
/// The upper byte of a half, to nearest even.
void fp8Wide(float* x, int n) {
  for (int i = 0; i < n; ++i) {
    const std::uint32_t bits = floatToHalf(x[i]);
    const std::uint32_t up = (bits + 0x7fu + ((bits >> 8) & 1u)) & 0xff00u;
    x[i] = halfToFloat(static_cast<std::uint16_t>(up));
  }
}

float amax(const float* x, int n) {
  float out = 0;
  for (int i = 0; i < n; ++i) out = std::max(out, std::abs(x[i]));
  return out;
}

/// kvlab's rows of 8 bits: a scale for each head.
template <kernels::DType type>
void scaled(float* x, int n) {
  const float scale = std::max(amax(x, n) / kernels::quantMax(type), kernels::kScaleFloor);
  if (!std::isfinite(scale)) return;
  for (int i = 0; i < n; ++i) x[i] = kernels::codeValue(kernels::quantCode(x[i] / scale, type), type) * scale;
}

void q8Block(float* x, int n) {
  const float d = amax(x, n) / 127, stored = asHalf(d);
  for (int i = 0; i < n; ++i) x[i] = d > 0 ? std::round(x[i] / d) * stored : 0;
}

/// Codes from -half to half - 1; the value of largest magnitude becomes -half.
template <int half>
void symmetric(float* x, int n) {
  float most = 0;
  for (int i = 0; i < n; ++i)
    if (std::abs(x[i]) > std::abs(most)) most = x[i];
  const float d = most / -half, stored = asHalf(d);
  for (int i = 0; i < n; ++i) {
    const float code = d != 0 ? std::min(2.0f * half - 1, std::floor(x[i] / d + half + 0.5f)) - half : 0;
    x[i] = code * stored;
  }
}

/// Codes from 0 to `most` above the least value.
template <int most>
void shifted(float* x, int n) {
  const auto [low, high] = std::minmax_element(x, x + n);
  const float least = *low, d = (*high - least) / most;
  const float storedLeast = asHalf(least), stored = asHalf(d);
  for (int i = 0; i < n; ++i) {
    const float code = d > 0 ? std::clamp(std::floor((x[i] - least) / d + 0.5f), 0.0f, static_cast<float>(most)) : 0;
    x[i] = code * stored + storedLeast;
  }
}

constexpr float kNearCode = 0.1f;  // of a step: what f16 leaves of a code of 127 is 0.06

constexpr int kSelf = -1;
constexpr StoredType kStored[] = {
    {"f32", 32, kSelf, wide},
    {"f16", 16, kSelf, half},
    {"bf16", 16, kSelf, brain},
    {"int8", 8, 0, scaled<kernels::DType::i8>},
    {"fp8-e4m3", 8, 0, scaled<kernels::DType::fp8e4m3>},  // with a scale for each head
    {"fp8_e4m3", 8, kSelf, fp8},
    {"fp8_e5m2", 8, kSelf, fp8Wide},
    {"q8_0", 8.5, 32, q8Block},
    {"q5_1", 6, 32, shifted<31>},
    {"q5_0", 5.5, 32, symmetric<16>},
    {"q4_1", 5, 32, shifted<15>},
    {"q4_0", 4.5, 32, symmetric<8>},
};

struct OtherName {
  std::string_view from, to;
};
constexpr OtherName kOther[] = {
    {"float32", "f32"},      {"float", "f32"},     {"float16", "f16"},          {"half", "f16"},
    {"bfloat16", "bf16"},    {"i8", "int8"},       {"fp8", "fp8_e4m3"},         {"float8_e4m3fn", "fp8_e4m3"},
    {"f8_e4m3", "fp8_e4m3"}, {"e4m3", "fp8_e4m3"}, {"float8_e5m2", "fp8_e5m2"}, {"f8_e5m2", "fp8_e5m2"},
};

}  // namespace

std::span<const StoredType> storedTypes() { return kStored; }

const StoredType* storedType(std::string_view named) {
  std::string low;
  for (const char c : named) low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (low.starts_with("torch.")) low.erase(0, 6);
  for (const OtherName& other : kOther)
    if (low == other.from) low = other.to;
  const auto found = std::ranges::find(kStored, std::string_view(low), &StoredType::name);
  return found == std::end(kStored) ? nullptr : &*found;
}

void roundRows(const StoredType& type, std::span<float> rows, int headDim) {
  const int step = type.block == 0 ? headDim : type.block;
  if (type.block == kSelf) {
    type.round(rows.data(), static_cast<int>(rows.size()));
    return;
  }
  for (std::size_t i = 0; i < rows.size(); i += static_cast<std::size_t>(step))
    type.round(rows.data() + i, static_cast<int>(std::min(rows.size() - i, static_cast<std::size_t>(step))));
}

bool holdsAll(const StoredType& type, std::span<const float> values) {
  const auto told = std::ranges::count_if(values, [](float value) { return std::isfinite(value) && value != 0; });
  if (type.block != kSelf || static_cast<std::size_t>(told) * 4 < values.size()) return false;
  return std::ranges::all_of(values, [&](float value) {
    float rounded = value;
    type.round(&rounded, 1);
    return !std::isfinite(value) || rounded == value;
  });
}

bool holdsCodes(std::span<const float> rows, int headDim) {
  const auto dim = static_cast<std::size_t>(headDim);
  std::size_t told = 0, codes = 0;
  for (std::size_t from = 0; from + dim <= rows.size(); from += dim) {
    const std::span<const float> head = rows.subspan(from, dim);
    const float step = amax(head.data(), headDim) / 127;
    if (!(step > 0) || !std::isfinite(step)) continue;
    ++told;
    codes += std::ranges::all_of(
        head, [step](float value) { return std::abs(value / step - std::round(value / step)) < kNearCode; });
  }
  return 2 * told * dim > rows.size() && codes * 20 >= told * 19;
}

}  // namespace kvlab
