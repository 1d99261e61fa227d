// SPDX-License-Identifier: Apache-2.0
// Tells whether this processor multiplies pairs of bf16 by itself. Any thread.
#pragma once

namespace kvlab::kernels {

inline bool hasNativeBf16() {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

}  // namespace kvlab::kernels
