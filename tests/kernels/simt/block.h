// SPDX-License-Identifier: Apache-2.0
// Runs the blocks of one launch one after another; the threads of a block are fibers that meet at
// barriers and warp operations. Between two barriers threads run in ascending order, or with a seed in an order drawn
// from it, the blocks too: code that lacks a barrier then gives other results. Static shared
// memory is one static variable for all blocks; dynamic shared memory starts every block as NaN.
// A barrier or warp operation that some of its threads never reach ends the launch with a report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "vector_types.h"

namespace kvlab::simt {

inline constexpr unsigned kWarp = 32;
inline constexpr size_t kSharedLimit = 227 * 1024;  ///< unless the environment says less

struct Launch {
  dim3 grid, block;
  size_t sharedBytes = 0;
  std::function<void()> body;  ///< the work of one thread
  std::string name;            ///< for reports
};

/// A place in device code, for reports.
struct Place {
  const char* file = "";
  int line = 0;
};

enum class WarpOp : uint8_t { sync, shuffle, vote };

class BlockRunner {
 public:
  BlockRunner();
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  /// Empty, or the error and its place.
  std::string run(const Launch& launch, uint64_t seed);

  // Called by device code, on a fiber.
  int barrier(int predicate, Place);  ///< number of threads whose predicate is not 0
  /// Waits for the lanes of mask. A shuffle returns the value of lane `source`, the others the lanes
  /// whose value is odd.
  uint64_t meet(WarpOp, uint32_t mask, uint64_t value, unsigned source, Place);
  void* dynamicShared();
  void meetStatic(Place);  ///< A kernel with dynamic shared memory has no static one (launch.h).
  /// cp.async: nothing is copied before a wait; validBytes come from memory, the rest is 0.
  void copyAsync(void* to, const void* from, unsigned bytes, unsigned validBytes);
  void commitCopies();
  void waitCopies(unsigned groupsLeft);
  unsigned thread() const;  ///< its number in the block
  unsigned lane() const { return thread() % kWarp; }

 private:
  struct Impl;
  std::unique_ptr<Impl> m_impl;
};

/// The one that runs now. CUDA's device functions have no object to belong to.
BlockRunner& blockRunner();

}  // namespace kvlab::simt

extern uint3 threadIdx, blockIdx;  // CUDA's names; the runner sets them before it lets a thread run
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;
