// SPDX-License-Identifier: Apache-2.0
// Tells whether this processor adds four products of 8-bit integers by itself. Any thread.
#pragma once

namespace kvlab::kernels {

inline bool hasNativeQ8() {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

}  // namespace kvlab::kernels
