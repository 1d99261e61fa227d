// SPDX-License-Identifier: Apache-2.0
// Element types of weights and row records. The values are stored in files: append only.
#pragma once

#include <cstdint>

#include "kernels/platform.h"

namespace kvlab::kernels {

/// i8 and fp8e4m3 carry f32 scales: in row records one per (head, token) (row_quant.h), in matrices of weights,
/// which may be i8 too, one per output (ops/matmul.h). Types from q8_0 on are those of GGUF files, of weights alone: a
/// row is cut into blocks that carry their own scales.
enum class DType : uint8_t {
  f32 = 0,
  f16 = 1,
  bf16 = 2,
  i8 = 3,
  fp8e4m3 = 4,
  q8_0 = 5,
  q4_0 = 6,
  q4_1 = 7,
  q5_0 = 8,
  q5_1 = 9,
  q4_k = 10,
  q5_k = 11,
  q6_k = 12,
  mxfp4 = 13
};

/// A block of a row of weights: so many values in so many bytes. Values of the types that are not cut into blocks are
/// blocks of one.
struct DTypeBlock {
  int64_t values, bytes;
};

KVLAB_HD constexpr DTypeBlock dtypeBlock(DType t) {
  switch (t) {
    case DType::f32: return {1, 4};
    case DType::f16:
    case DType::bf16: return {1, 2};
    case DType::i8:
    case DType::fp8e4m3: return {1, 1};
    case DType::q8_0: return {32, 34};
    case DType::q4_0: return {32, 18};
    case DType::q4_1: return {32, 20};
    case DType::q5_0: return {32, 22};
    case DType::q5_1: return {32, 24};
    case DType::q4_k: return {256, 144};
    case DType::q5_k: return {256, 176};
    case DType::q6_k: return {256, 210};
    case DType::mxfp4: return {32, 17};
  }
  return {1, 0};
}

/// Bytes of one value; 0 of types that are cut into blocks.
KVLAB_HD constexpr int64_t dtypeBytes(DType t) { return dtypeBlock(t).values == 1 ? dtypeBlock(t).bytes : 0; }

/// Bytes of a row of k values, a multiple of the values in a block.
KVLAB_HD constexpr int64_t dtypeRowBytes(DType t, int64_t k) { return k / dtypeBlock(t).values * dtypeBlock(t).bytes; }

/// True for types whose rows are cut into blocks.
KVLAB_HD constexpr bool dtypeInBlocks(DType t) { return dtypeBlock(t).values > 1; }

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
    case DType::q8_0: return "q8_0";
    case DType::q4_0: return "q4_0";
    case DType::q4_1: return "q4_1";
    case DType::q5_0: return "q5_0";
    case DType::q5_1: return "q5_1";
    case DType::q4_k: return "q4_k";
    case DType::q5_k: return "q5_k";
    case DType::q6_k: return "q6_k";
    case DType::mxfp4: return "mxfp4";
  }
  return "?";
}

}  // namespace kvlab::kernels
