// SPDX-License-Identifier: Apache-2.0
// The arithmetic that all CPU ops share, by name.
//
// Dot products: 16 virtual f32 lanes; lane j accumulates the elements k = j (mod 16) in ascending k
// with fused multiply-add from +0; a tail shorter than 16 is padded with zeros; then the pairwise
// tree (j, j+8), (j, j+4), (j, j+2), (j, j+1). The result depends on neither vector width, number
// of rows, tiling nor threads.
// Dot products of "portable-bf16", for bf16 weights: the other operand is rounded to bf16 (to nearest, ties to
// even). Lane j takes the pairs of elements 2j, 2j + 1 (mod 32) in ascending order, the odd element of a pair first,
// with fused multiply-add; a tail shorter than 32 is padded; then the same tree. AVX512-BF16 computes the same,
// but takes values below 2^-126 for zero: only there bits may differ.
// Dot products of "portable-q8", for weights in blocks (block_codes.h): each 32 values of the other operand become
// int8 codes, x * (127 / amax) to nearest, ties to even, with the scale amax / 127. The codes of a unit (32 weights
// with one scale, of q6_k 16) meet in integers, exactly; the sum in f32, times the scale of x, times the scale of the
// weights, joins a lane with fused multiply-add, and so does the sum of the codes of x, times their scale, times the
// weights' least value. Units join two lanes in turn, which are added at the end. Rounding x costs about 0.5 % of a
// product (relative to the norms; tests/kernels/matmul_q8_test). exp: one polynomial in a fixed order of operations
// (cpu/runtime/exp-inl.h).
#pragma once

namespace kvlab::kernels {

/// "portable-fma" where the processor fuses multiply and add, otherwise "portable-muladd" (the same
/// order with two roundings). Equal ids give equal bits.
const char* numericsId();

/// The other arithmetic of the CPU: a choice, about twice as fast in prefill where the processor has AVX512-BF16.
inline constexpr const char* kBf16NumericsId = "portable-bf16";

/// The arithmetic of the CPU for quantised weights: products of integers.
inline constexpr const char* kQ8NumericsId = "portable-q8";

/// Name of the instruction set that run-time dispatch chose, for reports only.
const char* targetName();

}  // namespace kvlab::kernels
