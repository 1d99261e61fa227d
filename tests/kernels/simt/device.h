// SPDX-License-Identifier: Apache-2.0
// The device side of CUDA's language for g++: qualifiers, barriers, warp operations, atomics (threads
// never run at the same time), cached loads, intrinsics. Masks must name every lane that takes part.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "block.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __shared__                                                             \
  kvlab::simt::blockRunner().meetStatic({__builtin_FILE(), __builtin_LINE()}); \
  static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

#define SIMT_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(SIMT_HERE) { kvlab::simt::blockRunner().barrier(0, {file, line}); }
inline int __syncthreads_count(int p, SIMT_HERE) { return kvlab::simt::blockRunner().barrier(p, {file, line}); }
inline int __syncthreads_or(int p, SIMT_HERE) { return kvlab::simt::blockRunner().barrier(p, {file, line}) > 0; }
inline int __syncthreads_and(int p, SIMT_HERE) { return kvlab::simt::blockRunner().barrier(!p, {file, line}) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_HERE) {
  kvlab::simt::blockRunner().meet(kvlab::simt::WarpOp::sync, mask, 0, 0, {file, line});
}

namespace kvlab::simt {

template <class T>
T shuffle(unsigned mask, T value, unsigned from, Place place) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  bits = blockRunner().meet(WarpOp::shuffle, mask, bits, from, place);
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// The values of all lanes of the warp; all of them take part.
template <class T>
std::array<T, kWarp> broughtByWarp(const T& mine, Place place = {__builtin_FILE(), __builtin_LINE()}) {
  static std::array<T, kWarp> warps[1024 / kWarp];
  std::array<T, kWarp>& all = warps[blockRunner().thread() / kWarp];
  all[blockRunner().lane()] = mine;
  blockRunner().meet(WarpOp::sync, 0xffffffffu, 0, 0, place);
  const std::array<T, kWarp> brought = all;
  blockRunner().meet(WarpOp::sync, 0xffffffffu, 0, 0, place);
  return brought;
}

inline uint32_t vote(unsigned mask, int predicate, Place place) {
  return static_cast<uint32_t>(blockRunner().meet(WarpOp::vote, mask, predicate != 0, 0, place));
}

}  // namespace kvlab::simt

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32, SIMT_HERE) {
  const unsigned w = static_cast<unsigned>(width), lane = kvlab::simt::blockRunner().lane();
  return kvlab::simt::shuffle(mask, value, (lane & ~(w - 1)) | (static_cast<unsigned>(from) & (w - 1)), {file, line});
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32, SIMT_HERE) {
  const unsigned w = static_cast<unsigned>(width), lane = kvlab::simt::blockRunner().lane();
  const unsigned from = lane ^ static_cast<unsigned>(with);  // a group of width lanes may read the ones before it
  return kvlab::simt::shuffle(mask, value, from / w > lane / w ? lane : from, {file, line});
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, SIMT_HERE) {
  const unsigned w = static_cast<unsigned>(width), lane = kvlab::simt::blockRunner().lane();
  return kvlab::simt::shuffle(mask, value, lane % w + by < w ? lane + by : lane, {file, line});
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, SIMT_HERE) {
  const unsigned w = static_cast<unsigned>(width), lane = kvlab::simt::blockRunner().lane();
  return kvlab::simt::shuffle(mask, value, lane % w >= by ? lane - by : lane, {file, line});
}
inline unsigned __ballot_sync(unsigned mask, int p, SIMT_HERE) { return kvlab::simt::vote(mask, p, {file, line}); }
inline int __any_sync(unsigned mask, int p, SIMT_HERE) { return kvlab::simt::vote(mask, p, {file, line}) != 0; }
inline int __all_sync(unsigned mask, int p, SIMT_HERE) { return kvlab::simt::vote(mask, p, {file, line}) == mask; }
#undef SIMT_HERE

namespace kvlab::simt {

template <class T, class Fn>
T exchange(T* at, Fn next) {
  const T before = *at;
  *at = next(before);
  return before;
}

}  // namespace kvlab::simt

template <class T>
T atomicAdd(T* at, std::type_identity_t<T> v) {
  return kvlab::simt::exchange(at, [&](T x) { return static_cast<T>(x + v); });
}
template <class T>
T atomicSub(T* at, std::type_identity_t<T> v) {
  return kvlab::simt::exchange(at, [&](T x) { return static_cast<T>(x - v); });
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> v) {
  return kvlab::simt::exchange(at, [&](T x) { return x < v ? v : x; });
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> v) {
  return kvlab::simt::exchange(at, [&](T x) { return v < x ? v : x; });
}
template <class T>
T atomicOr(T* at, std::type_identity_t<T> v) {
  return kvlab::simt::exchange(at, [&](T x) { return static_cast<T>(x | v); });
}
template <class T>
T atomicAnd(T* at, std::type_identity_t<T> v) {
  return kvlab::simt::exchange(at, [&](T x) { return static_cast<T>(x & v); });
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> v) {
  return kvlab::simt::exchange(at, [&](T) { return v; });
}
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  return kvlab::simt::exchange(at, [&](T x) { return x == expected ? v : x; });
}
inline unsigned atomicInc(unsigned* at, unsigned last) {
  return kvlab::simt::exchange(at, [&](unsigned x) { return x >= last ? 0u : x + 1; });
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}

template <class T>
T __ldg(const T* p) {
  return *p;
}
template <class T>
T __ldcs(const T* p) {
  return *p;
}
template <class T>
T __ldcg(const T* p) {
  return *p;
}
template <class T>
T __ldca(const T* p) {
  return *p;
}
template <class T>
T __ldlu(const T* p) {
  return *p;
}
template <class T>
void __stcs(T* p, std::type_identity_t<T> v) {
  *p = v;
}
template <class T>
void __stcg(T* p, std::type_identity_t<T> v) {
  *p = v;
}

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x ? std::countr_zero(static_cast<unsigned>(x)) + 1 : 0; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((uint64_t{a} * b) >> 32); }
template <class T>
requires std::is_arithmetic_v<T>
constexpr T min(T a, T b) { return b < a ? b : a; }
template <class T>
requires std::is_arithmetic_v<T>
constexpr T max(T a, T b) { return a < b ? b : a; }
