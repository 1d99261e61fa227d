// SPDX-License-Identifier: Apache-2.0
// cp.async: copies from global to shared memory that a thread starts now and waits for later, in groups.
// A wait covers the thread's own copies; the block needs a barrier behind it. Below sm_80 the copy is
// done at once.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kvlab::kernels::cuda {

/// 16 bytes; both addresses are multiples of 16. The last 16 - validBytes of them become 0, and memory
/// behind validBytes is not read.
__device__ __forceinline__ void copyAsync16(void* shared, const void* global, uint32_t validBytes = 16) {
#if !defined(__CUDACC__)
  simt::blockRunner().copyAsync(shared, global, 16, validBytes);
#elif __CUDA_ARCH__ >= 800
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(validBytes) : "memory");
#else
  uint4 v = make_uint4(0, 0, 0, 0);
  if (validBytes == 16) {
    v = *static_cast<const uint4*>(global);
  } else {
    for (uint32_t i = 0; i < validBytes; ++i)
      reinterpret_cast<uint8_t*>(&v)[i] = static_cast<const uint8_t*>(global)[i];
  }
  *static_cast<uint4*>(shared) = v;
#endif
}

/// For copyPassing16(): nobody reads the same bytes again soon, so other lines may stay in the second-level cache.
__device__ __forceinline__ uint64_t passingPolicy() {
  uint64_t policy = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#endif
  return policy;
}

/// copyAsync16() of 16 bytes that pass through.
__device__ __forceinline__ void copyPassing16(void* shared, const void* global, [[maybe_unused]] uint64_t policy) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "l"(policy)
               : "memory");
#else
  copyAsync16(shared, global);
#endif
}

/// 4 bytes; both addresses are multiples of 4. validBytes is 4 or 0.
__device__ __forceinline__ void copyAsync4(void* shared, const void* global, uint32_t validBytes = 4) {
#if !defined(__CUDACC__)
  simt::blockRunner().copyAsync(shared, global, 4, validBytes);
#elif __CUDA_ARCH__ >= 800
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(global), "r"(validBytes) : "memory");
#else
  *static_cast<uint32_t*>(shared) = validBytes ? *static_cast<const uint32_t*>(global) : 0;
#endif
}

/// Closes the group of the copies since the last commit.
__device__ __forceinline__ void commitCopies() {
#if !defined(__CUDACC__)
  simt::blockRunner().commitCopies();
#elif __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most kLeft of the thread's groups are under way.
template <int kLeft>
__device__ __forceinline__ void waitCopies() {
#if !defined(__CUDACC__)
  simt::blockRunner().waitCopies(kLeft);
#elif __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#endif
}

}  // namespace kvlab::kernels::cuda
