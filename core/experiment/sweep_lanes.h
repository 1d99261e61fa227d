// SPDX-License-Identifier: Apache-2.0
// Several cells of a sweep on one worker: they take turns, and where all wait for a forward pass it is made for all of
// them at once, so that the weights are read once. Figures are those of cells that run alone. The thread of its owner.
#pragma once
#include "core/experiment/sweep_setup.h"
#include "core/lanes/lockstep.h"

namespace kvlab {

class SweepLanes {
 public:
  /// For `cells` cells of the sweep and as many workers as it wants: at most 8 lanes, and as few as leave cells for all
  /// workers, keep all rows within 2 GiB, and have the memory for a common pass; one on a device. A failure to make
  /// them is told by the cells.
  SweepLanes(const SweepSetup& setup, std::int64_t cells);
  /// The number of cells at a time.
  int count() const { return m_count; }
  /// Calls `lane` on as many threads, one at a time, and returns when all calls have. runner: makes the passes of the
  /// cells, or null; seconds(): those of the lane so far, with its share of the passes. lane must not throw.
  using Lane = std::function<void(PassRunner* runner, const std::function<double()>& seconds)>;
  void run(const Lane& lane);

 private:
  int m_count = 1;
  std::unique_ptr<Session> m_own;  // its threads make the passes
  std::unique_ptr<Transformer> m_wide;
  std::unique_ptr<Lockstep> m_lockstep;
};

}  // namespace kvlab
