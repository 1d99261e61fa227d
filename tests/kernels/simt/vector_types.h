// SPDX-License-Identifier: Apache-2.0
// CUDA's small vectors, with CUDA's alignment.
#pragma once

#define SIMT_VECTORS(T, NAME)                                           \
  struct NAME##1 {                                                      \
    T x;                                                                \
  };                                                                    \
  struct alignas(2 * sizeof(T)) NAME##2 {                               \
    T x, y;                                                             \
  };                                                                    \
  struct NAME##3 {                                                      \
    T x, y, z;                                                          \
  };                                                                    \
  struct alignas(sizeof(T) < 8 ? 4 * sizeof(T) : 16) NAME##4 {          \
    T x, y, z, w;                                                       \
  };                                                                    \
  constexpr NAME##1 make_##NAME##1(T x) { return {x}; }                 \
  constexpr NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }         \
  constexpr NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; } \
  constexpr NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }

SIMT_VECTORS(signed char, char)
SIMT_VECTORS(unsigned char, uchar)
SIMT_VECTORS(short, short)
SIMT_VECTORS(unsigned short, ushort)
SIMT_VECTORS(int, int)
SIMT_VECTORS(unsigned, uint)
SIMT_VECTORS(long long, longlong)
SIMT_VECTORS(unsigned long long, ulonglong)
SIMT_VECTORS(float, float)
SIMT_VECTORS(double, double)
#undef SIMT_VECTORS

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
