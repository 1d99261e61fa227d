// SPDX-License-Identifier: Apache-2.0
// Runs the blocks of one launch one after another; the threads of a block are fibers that meet at
// barriers and warp operations. Between two barriers threads run in ascending order, or with a seed in an order drawn
// from it, the blocks too: code that lacks a barrier then gives other results. Static shared
// memory is one static variable for all blocks; dynamic shared memory starts every block as NaN.
// A barrier or warp operation that some of its threads never reach ends the launch with a report; so does a load or
// store at an address that is no multiple of the size that its type asks for, where the compiler checks these
// (-fsanitize=alignment, simt.cmake).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "vector_types.h"

namespace kvlab::simt {

inline constexpr unsigned kWarp = 32;

struct Launch {
  dim3 grid, block;
  size_t sharedBytes = 0;
  const void* kernel = nullptr;  ///< address of its function
  std::function<void()> body;    ///< the work of one thread
  std::string name;              ///< for reports
};

/// A place in device code, for reports.
struct Place {
  const char* file = "";
  int line = 0;
};

/// Why a launch ended early; without a text it did not.
struct Fault {
  std::string text;
  bool misaligned = false;
};

enum class WarpOp : uint8_t { sync, shuffle, vote };

class BlockRunner {
 public:
  BlockRunner();
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  /// Empty, or the error and its place.
  Fault run(const Launch& launch, uint64_t seed);

  // Called by device code, on a fiber.
  int barrier(int predicate, Place);  ///< number of threads whose predicate is not 0
  /// Waits for the lanes of mask. A shuffle returns the value of lane `source`, the others the lanes
  /// whose value is odd.
  uint64_t meet(WarpOp, uint32_t mask, uint64_t value, unsigned source, Place);
  void* dynamicShared();
  void meetStatic(Place);  ///< A kernel with dynamic shared memory has no static one (launch.h).
  /// Ends the launch unless `at` is a multiple of `border`.
  void checkAligned(const void* at, size_t border, Place);
  /// cp.async: nothing is copied before a wait; validBytes come from memory, the rest is 0. Both addresses are
  /// multiples of `bytes`.
  void copyAsync(void* to, const void* from, unsigned bytes, unsigned validBytes,
                 Place = {__builtin_FILE(), __builtin_LINE()});
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
