// SPDX-License-Identifier: Apache-2.0
// Moves of records, one after another. A move never changes the column of a byte, so each thread carries
// out all moves for 16 bytes of the record: nothing waits for another thread. To hide the latency of
// memory, a thread reads several rows before it writes them, as long as none of them is written before.
#include "kernels/cuda/runtime/bounds.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kThreads = 32, kAhead = 8;

struct RowPair {
  int64_t from = 0, to = 0;
};

/// Single rows of a list of moves in an order that is right where a move overlaps itself.
struct MoveCursor {
  const RowMove* moves;
  int64_t n;
  Bound from, to;
  int64_t move = 0;
  int32_t row = 0;

  __device__ bool possible(const RowMove& m) const { return from.holds(m.from, m.count) && to.holds(m.to, m.count); }

  __device__ bool next(RowPair& out) {
    while (move < n && (row >= moves[move].count || (row == 0 && !possible(moves[move])))) {
      ++move;
      row = 0;
    }
    if (move >= n) return false;
    const RowMove m = moves[move];
    const int32_t at = m.to > m.from ? m.count - 1 - row : row;
    ++row;
    out = {int64_t{m.from} + at, int64_t{m.to} + at};
    return true;
  }
};

__global__ void __launch_bounds__(kThreads) moveRowsKernel(MoveRowsArgs a, int64_t stride, Bounds bounds) {
  const int64_t column = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * 16;
  if (column >= stride) return;
  const bool onePool = a.fromPool == a.toPool;
  MoveCursor cursor{a.moves, a.n, bounds.of(IndexKind::slot, a.fromPool, stride),
                    bounds.of(IndexKind::slot, a.toPool, stride)};
  RowPair pair;
  bool more = cursor.next(pair);
  while (more) {
    uint4 words[kAhead];
    int64_t to[kAhead];
    int held = 0;
#pragma unroll
    for (int slot = 0; slot < kAhead; ++slot) {
      bool free = more && held == slot;
#pragma unroll
      for (int before = 0; before < slot; ++before) free = free && !(onePool && pair.from == to[before]);
      if (!free) continue;
      words[slot] = *reinterpret_cast<const uint4*>(a.fromPool + pair.from * stride + column);
      to[slot] = pair.to;
      ++held;
      more = cursor.next(pair);
    }
#pragma unroll
    for (int slot = 0; slot < kAhead; ++slot)
      if (slot < held) *reinterpret_cast<uint4*>(a.toPool + to[slot] * stride + column) = words[slot];
  }
}

}  // namespace

int32_t moveRows(void* stream, const MoveRowsArgs& a) {
  if (a.n <= 0) return 0;
  const int64_t stride = rowLayout(a.fmt).stride;
  return launch(moveRowsKernel, (stride / 16 + kThreads - 1) / kThreads, kThreads, 0, stream, a, stride,
                boundsFor("moveRows"));
}

}  // namespace kvlab::kernels::cuda
