// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/gguf_types.h"

#include <array>

namespace kvlab {
namespace {

using kernels::DType;

struct KindRow {
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<KindRow, kGgufKinds> kKindRows{{{"u8", 1},
                                                     {"i8", 1},
                                                     {"u16", 2},
                                                     {"i16", 2},
                                                     {"u32", 4},
                                                     {"i32", 4},
                                                     {"f32", 4},
                                                     {"bool", 1},
                                                     {"text", 0},
                                                     {"array", 0},
                                                     {"u64", 8},
                                                     {"i64", 8},
                                                     {"f64", 8}}};

constexpr GgufType computed(std::uint32_t id, std::string_view name, DType type) {
  return {id, name, kernels::dtypeBlock(type).values, kernels::dtypeBlock(type).bytes, type};
}

constexpr GgufType known(std::uint32_t id, std::string_view name, std::int64_t values, std::int64_t bytes) {
  return {id, name, values, bytes, {}};
}

constexpr std::array kTypeRows{computed(0, "F32", DType::f32),
                               computed(1, "F16", DType::f16),
                               computed(2, "Q4_0", DType::q4_0),
                               computed(3, "Q4_1", DType::q4_1),
                               computed(6, "Q5_0", DType::q5_0),
                               computed(7, "Q5_1", DType::q5_1),
                               computed(8, "Q8_0", DType::q8_0),
                               known(9, "Q8_1", 32, 36),
                               known(10, "Q2_K", 256, 84),
                               known(11, "Q3_K", 256, 110),
                               computed(12, "Q4_K", DType::q4_k),
                               computed(13, "Q5_K", DType::q5_k),
                               computed(14, "Q6_K", DType::q6_k),
                               known(15, "Q8_K", 256, 292),
                               known(16, "IQ2_XXS", 256, 66),
                               known(17, "IQ2_XS", 256, 74),
                               known(18, "IQ3_XXS", 256, 98),
                               known(19, "IQ1_S", 256, 50),
                               known(20, "IQ4_NL", 32, 18),
                               known(21, "IQ3_S", 256, 110),
                               known(22, "IQ2_S", 256, 82),
                               known(23, "IQ4_XS", 256, 136),
                               known(24, "I8", 1, 1),
                               known(25, "I16", 1, 2),
                               known(26, "I32", 1, 4),
                               known(27, "I64", 1, 8),
                               known(28, "F64", 1, 8),
                               known(29, "IQ1_M", 256, 56),
                               computed(30, "BF16", DType::bf16),
                               known(34, "TQ1_0", 256, 54),
                               known(35, "TQ2_0", 256, 66),
                               computed(39, "MXFP4", DType::mxfp4),
                               known(40, "NVFP4", 64, 36)};

}  // namespace

std::size_t ggufKindBytes(GgufKind kind) { return kKindRows[static_cast<std::size_t>(kind)].bytes; }
std::string_view ggufKindName(GgufKind kind) { return kKindRows[static_cast<std::size_t>(kind)].name; }

const GgufType* ggufType(std::uint32_t id) {
  for (const GgufType& row : kTypeRows)
    if (row.id == id) return &row;
  return nullptr;
}

}  // namespace kvlab
