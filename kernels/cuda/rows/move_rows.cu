// SPDX-License-Identifier: Apache-2.0
// Moves of records, with the result of one after another. A move never changes the column of a byte, so a block takes
// some columns of all records (move_plan.h), and no block waits for another one. Its threads read many rows, wait for
// each other, and write them.
//
// Moves are looked at kMovesAtOnce at a time. A group ends before the first move that reads or writes a row that an
// earlier one of the group writes; so all its rows are read as they were before the group. What is left is that a row
// is read before another one is written there: the order of rows, backwards where a move goes up, and the barriers see
// to it. If no row is written that any other move or row reads, the rows need no order: the blocks of a slab share
// them.
#include "kernels/cuda/rows/move_plan.h"
#include "kernels/cuda/runtime/bounds.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/ops.h"
#include "kernels/row_format.h"

namespace kvlab::kernels::cuda {
namespace {

/// The moves that a block looks at.
struct MoveGroup {
  RowMove moves[kMovesAtOnce];
  int32_t before[kMovesAtOnce + 1];  ///< rows of earlier moves of the group
  int32_t end;                       ///< its moves are those below
  int32_t ordered;                   ///< not 0 if the order of its rows matters
};

__device__ bool overlap(int32_t a, int32_t countA, int32_t b, int32_t countB) {
  return countA > 0 && countB > 0 && int64_t{a} < int64_t{b} + countB && int64_t{b} < int64_t{a} + countA;
}

/// Loads up to kMovesAtOnce moves and finds where the group ends. Every thread of the block. A move outside of the
/// pools has no rows.
__device__ void loadGroup(MoveGroup& group, const MoveRowsArgs& a, int64_t first, int64_t stride,
                          const Bounds& bounds) {
  const int me = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int32_t count = static_cast<int32_t>(min(a.n - first, int64_t{kMovesAtOnce}));
  const bool onePool = a.fromPool == a.toPool;
  const Bound from = bounds.of(IndexKind::slot, a.fromPool, stride), to = bounds.of(IndexKind::slot, a.toPool, stride);
  if (first > 0) __syncthreads();  // the group before has been used, and its rows are written
  for (int i = me; i < count; i += threads) {
    RowMove m = a.moves[first + i];
    const bool possible = m.count > 0 && from.holds(m.from, m.count) && to.holds(m.to, m.count);
    if (!possible || (onePool && m.from == m.to)) m.count = 0;
    group.moves[i] = m;
  }
  if (me == 0) group.end = count, group.ordered = 0;
  __syncthreads();
  const int side = min(threads, kMovesAtOnce);  // every thread compares one move with some of the earlier ones
  for (int j = me % side; j < count; j += side) {
    const RowMove late = group.moves[j];
    for (int i = me / side; i < j; i += threads / side) {
      const RowMove early = group.moves[i];
      if (overlap(early.to, early.count, late.to, late.count) ||
          (onePool && overlap(early.to, early.count, late.from, late.count))) {
        atomicMin(&group.end, j);
        break;
      }
    }
  }
  if (count > 1) __syncthreads();
  const int32_t end = group.end;
  for (int j = me; j < end; j += threads) {
    const RowMove late = group.moves[j];
    bool ordered = false;
    int32_t rows = 0;
    for (int i = 0; i <= j; ++i) {
      const RowMove early = group.moves[i];
      ordered = ordered || (onePool && overlap(late.to, late.count, early.from, early.count));
      rows += early.count;
    }
    if (ordered) atomicMax(&group.ordered, 1);
    group.before[j + 1] = rows;
  }
  if (me == 0) group.before[0] = 0;
  __syncthreads();
}

struct RowPair {
  int64_t from, to;
};

/// Row `row` of the group, in an order that is right where a move overlaps itself.
__device__ RowPair rowOf(const MoveGroup& group, int32_t row) {
  int32_t low = 0, high = group.end;  // the last move with no more than `row` rows before it
  while (high - low > 1) {
    const int32_t middle = (low + high) / 2;
    if (group.before[middle] <= row) low = middle;
    else high = middle;
  }
  const RowMove m = group.moves[low];
  const int32_t nth = row - group.before[low], at = m.to > m.from ? m.count - 1 - nth : nth;
  return {int64_t{m.from} + at, int64_t{m.to} + at};
}

/// Rows [begin, end) of the group in the column at `column` bytes; `lane` of `lanes` threads of this column.
__device__ void moveShare(const MoveGroup& group, const MoveRowsArgs& a, int64_t stride, int64_t column, int32_t begin,
                          int32_t end, int32_t lane, int32_t lanes) {
  const bool ordered = group.ordered != 0, here = column < stride;
  for (int32_t base = begin; base < end; base += kMoveAhead * lanes) {
    uint4 words[kMoveAhead];
    int64_t to[kMoveAhead];
#pragma unroll
    for (int k = 0; k < kMoveAhead; ++k) {
      const int32_t row = base + k * lanes + lane;
      to[k] = -1;
      if (!here || row >= end) continue;
      const RowPair pair = rowOf(group, row);
      words[k] = *reinterpret_cast<const uint4*>(a.fromPool + pair.from * stride + column);
      to[k] = pair.to;
    }
    if (ordered) __syncthreads();
#pragma unroll
    for (int k = 0; k < kMoveAhead; ++k)
      if (to[k] >= 0) *reinterpret_cast<uint4*>(a.toPool + to[k] * stride + column) = words[k];
    if (ordered && base + kMoveAhead * lanes < end) __syncthreads();
  }
}

__global__ void __launch_bounds__(kMoveThreads)
    moveRowsKernel(MoveRowsArgs a, int64_t stride, int columnsShift, Bounds bounds) {
  __shared__ MoveGroup group;
  const auto me = static_cast<int32_t>(threadIdx.x), columns = 1 << columnsShift;
  const int64_t column = ((int64_t{blockIdx.x} << columnsShift) + me % columns) * 16;
  const int32_t lane = me >> columnsShift, lanes = static_cast<int32_t>(blockDim.x) >> columnsShift;
  for (int64_t first = 0; first < a.n; first += group.end) {
    loadGroup(group, a, first, stride, bounds);
    const int64_t rows = group.before[group.end];
    // Blocks do not know how far others are: only a list that is one group without an order is shared.
    const bool shared = group.end == a.n && group.ordered == 0;
    if (!shared && blockIdx.y > 0) return;
    const int64_t share = shared ? blockIdx.y : 0, shares = shared ? gridDim.y : 1;
    moveShare(group, a, stride, column, static_cast<int32_t>(rows * share / shares),
              static_cast<int32_t>(rows * (share + 1) / shares), lane, lanes);
  }
}

}  // namespace

int32_t moveRows(void* stream, const MoveRowsArgs& a) {
  if (a.n <= 0) return 0;
  DeviceShape device;
  if (const cudaError_t error = askForShape(&device); error != cudaSuccess) return error;
  const int64_t stride = rowLayout(a.fmt).stride;
  const bool ordered = a.fromPool == a.toPool || a.n > kMovesAtOnce;
  const MovePlan plan = movePlan(stride, std::max(a.rows, a.n), ordered, device.multiprocessors);
  return launch(moveRowsKernel, {plan.slabs, plan.shares}, static_cast<unsigned>(plan.threads), 0, stream, a, stride,
                plan.columnsShift, boundsFor("moveRows"));
}

}  // namespace kvlab::kernels::cuda
