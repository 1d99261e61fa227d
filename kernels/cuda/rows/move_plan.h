// SPDX-License-Identifier: Apache-2.0
// How many threads move records, and which. The host plans a launch from sizes alone; the moves themselves lie on the
// device. Tested on the host.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kvlab::kernels::cuda {

inline constexpr int kMoveThreads = 1024,
                     kMoveAhead = 4;      // the most of a block; words of 16 bytes under way in a thread
inline constexpr int kMovesAtOnce = 256;  // that a block looks at together

/// Blocks [slabs, shares]: a slab is a group of columns of every record, a share a part of the rows.
struct MovePlan {
  int columnsShift = 1;  ///< a block has 2 to this power columns of 16 bytes: a whole sector, or whole lines
  int64_t slabs = 1, shares = 1;
  int threads = 32;

  int columns() const { return 1 << columnsShift; }
};

/// stride: bytes of a record, a multiple of 64. rows: of all moves together, 0 if the caller does not know.
/// Rows may have to go in an order, in a pool or in a long list. One block keeps it for its slab: such slabs are
/// narrow, unless records are so long that wider ones fill the device. Other rows are spread over blocks, a line wide.
inline MovePlan movePlan(int64_t stride, int64_t rows, bool ordered, int multiprocessors) {
  MovePlan plan;
  const int64_t words = stride / 16, wanted = 2 * int64_t{std::max(multiprocessors, 1)};
  rows = std::max<int64_t>(rows, 1);
  plan.columnsShift = ordered ? 1 : 3;
  while (plan.columnsShift < 3 && words >> (plan.columnsShift + 1) >= wanted) ++plan.columnsShift;
  plan.slabs = (words + plan.columns() - 1) / plan.columns();
  plan.shares = std::clamp<int64_t>((wanted + plan.slabs - 1) / plan.slabs, 1, (rows * plan.columns() + 255) / 256);
  // In an order, one share does all the rows.
  const int64_t each = ordered ? rows : (rows + plan.shares - 1) / plan.shares;
  plan.threads = static_cast<int>(std::clamp<int64_t>((each * plan.columns() + 31) / 32 * 32, 32, kMoveThreads));
  return plan;
}

}  // namespace kvlab::kernels::cuda
