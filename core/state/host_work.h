// SPDX-License-Identifier: Apache-2.0
// Work of the engine on the host beside ops: shared among the threads of the back end, and in lanes, which a compiler
// makes vectors of without changing the order of a sum. Engine thread, outside of ops.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/backend/backend.h"
#include "kernels/thread_pool.h"

namespace kvlab {

/// Calls work(i) for each i of [0, count), in any order: on the threads of the back end, or here where it has none or
/// there is no back end.
template <class Work>
void onThreads(const kernels::Backend* backend, std::size_t count, const Work& work) {
  const auto some = [&work](std::int64_t from, std::int64_t to, int) {
    for (; from < to; ++from) work(static_cast<std::size_t>(from));
  };
  const auto end = static_cast<std::int64_t>(count);
  if (kernels::ThreadPool* pool = backend ? backend->context().pool : nullptr) pool->parallelFor(0, end, 1, some);
  else some(0, end, 0);
}

/// to[i] += from[i] * by, [n].
inline void addScaled(double* to, const float* from, double by, std::size_t n) {
  constexpr std::size_t kLanes = 8;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) to[i + lane] += double(from[i + lane]) * by;
  for (; i < n; ++i) to[i] += double(from[i]) * by;
}

}  // namespace kvlab
