// SPDX-License-Identifier: Apache-2.0
// Element types of weights and row records. The values are stored in files: append only.
#pragma once

#include <cstdint>

#include "kernels/platform.h"

namespace kvlab::kernels {

/// i8 and fp8e4m3 carry f32 scales: in row records one per (head, token) (row_quant.h), in matrices of weights,
/// which may be i8 too, one per output (ops/matmul.h).
enum class DType : uint8_t { f32 = 0, f16 = 1, bf16 = 2, i8 = 3, fp8e4m3 = 4 };

KVLAB_HD constexpr int64_t dtypeBytes(DType t) {
  switch (t) {
    case DType::f32: return 4;
    case DType::f16:
    case DType::bf16: return 2;
    case DType::i8:
    case DType::fp8e4m3: return 1;
  }
  return 0;
}

/// True where values need a scale to be read.
KVLAB_HD constexpr bool dtypeHasScale(DType t) { return t == DType::i8 || t == DType::fp8e4m3; }

/// True for types whose values stand for themselves; convert() reads and writes these types.
KVLAB_HD constexpr bool dtypeSupported(DType t) { return t == DType::f32 || t == DType::f16 || t == DType::bf16; }

/// True for types of rows.
KVLAB_HD constexpr bool dtypeSupportedInRows(DType t) { return dtypeSupported(t) || dtypeHasScale(t); }

/// The name of the type in manifests and files.
constexpr const char* dtypeName(DType t) {
  switch (t) {
    case DType::f32: return "f32";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::i8: return "int8";
    case DType::fp8e4m3: return "fp8-e4m3";
  }
  return "?";
}

}  // namespace kvlab::kernels
