// SPDX-License-Identifier: Apache-2.0
// Instruction sets that dispatch chooses from: AVX-512, AVX2 with FMA, NEON, SSE4 (no FMA) and scalar
// code as the baseline; and instructions that Highway has no target for. Include before any Highway header.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#define HWY_BROKEN_EMU128 1  // the baseline is HWY_SCALAR with every compiler

#if defined(__GNUC__) && !defined(__clang__)
#define KVLAB_UNROLL _Pragma("GCC unroll 16")
#elif defined(__clang__)
#define KVLAB_UNROLL _Pragma("clang loop unroll(full)")
#else
#define KVLAB_UNROLL
#endif

// An op of the table: nameTarget(pool, args) of the best instruction set. For the part of a file under HWY_ONCE.
#define KVLAB_CPU_OP(name, Args) \
  HWY_EXPORT(name##Target);      \
  void name(const Context& context, const Args& args) { HWY_DYNAMIC_DISPATCH(name##Target)(*context.pool, args); }

// Keeps a vector in a register: compilers like to fold one load into many multiply-adds, which makes
// the loop load-bound.
#if defined(__x86_64__) && defined(__GNUC__)
#define KVLAB_KEEP(vector) __asm__("" : "+v"((vector).raw))
#else
#define KVLAB_KEEP(vector) static_cast<void>(0)
#endif

namespace kvlab::kernels {

// Whether this processor multiplies pairs of bf16, or adds four products of 8-bit integers, by itself. Any thread.
#if defined(__x86_64__) && defined(__GNUC__)
inline bool hasNativeBf16() { return __builtin_cpu_supports("avx512bf16"); }
inline bool hasNativeQ8() { return __builtin_cpu_supports("avx512vnni"); }
#else
inline bool hasNativeBf16() { return false; }
inline bool hasNativeQ8() { return false; }
#endif

}  // namespace kvlab::kernels
