// SPDX-License-Identifier: Apache-2.0
// The numbers that stand for types of key values and types of tensors in a GGUF file. Values; any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/files/tensor.h"

namespace kvlab {

enum class GgufKind : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, Text, Array, U64, I64, F64 };
inline constexpr std::uint32_t kGgufKinds = 13;
/// 0 of texts and arrays, which have no fixed size.
std::size_t ggufKindBytes(GgufKind kind);
std::string_view ggufKindName(GgufKind kind);  // "u32"

/// The value of a key, checked and left in the file.
struct GgufValue {
  GgufKind kind = GgufKind::U8;  // for an array the kind of its items
  bool array = false;
  std::uint64_t count = 1;           // items
  std::span<const std::byte> bytes;  // a text without its length; items of an array of texts with theirs

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};
using GgufValues = std::map<std::string, GgufValue, std::less<>>;

/// A type of tensors of the format.
struct GgufType {
  std::uint32_t id;
  std::string_view name;                // "Q4_K"
  std::int64_t values, bytes;           // values and bytes of a block
  std::optional<kernels::DType> dtype;  // absent = kvlab cannot compute with it
};
const GgufType* ggufType(std::uint32_t id);  // null = no such type

struct GgufTensor {
  std::string name;
  kernels::DType dtype = kernels::DType::f32;
  std::vector<std::int64_t> shape;   // slowest dimension first
  std::span<const std::byte> bytes;  // any alignment

  TensorView view() const { return {bytes.data(), dtype, shape}; }
};

}  // namespace kvlab
