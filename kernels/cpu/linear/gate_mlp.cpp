// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/gate_mlp.h"

#include <algorithm>

#include "kernels/cpu/runtime/targets.h"
#include "kernels/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/linear/gate_mlp.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/linear/dot_stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t kGateRows = 48;         // rows that share a panel of weights; multiple of the tile's
constexpr int64_t kGateColumns = 48;      // columns of a panel
constexpr int64_t kFewRows = 8;           // up to so many rows stream the weights: widening them costs more
constexpr int64_t kStreamedRows = 2;      // so many at a time, while the weights of the gate are near
constexpr int64_t kWorkPerTask = 131072;  // multiply-adds worth handing to another thread

HWY_INLINE int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }

/// Rows [row0, row0 + m) of one gate.
struct Unit {
  const GateMlpArgs& a;
  int64_t gate, row0, m;

  const float* x(int64_t i) const {
    return a.x + gate / a.kvHeads * a.xLayerStride + (row0 + i) * a.xStride + gate % a.kvHeads * a.headDim();
  }
  float* out(int64_t i) const {
    return a.out + gate / a.kvHeads * a.outLayerStride + (row0 + i) * a.outStride + gate % a.kvHeads;
  }
  Weight w(int stage) const {
    Weight own = a.w[stage];
    own.data = static_cast<const uint8_t*>(own.data) + gate * own.n * own.k * dtypeBytes(own.type);
    return own;
  }
  const float* b(int stage) const { return a.b[stage] + gate * a.w[stage].n; }
};

/// Memory of a worker: two sets of rows, one of them packed, and a panel.
struct Room {
  int64_t width;  // floats from row to row, off the power of two
  explicit Room(const GateMlpArgs& a) : width(padded(std::max(a.headDim(), a.hidden())) + 16) {}
  size_t bytes(bool few) const {
    return static_cast<size_t>((few ? 2 * kStreamRows : 2 * kGateRows + kGateColumns) * width) * 4;
  }
};

HWY_INLINE void relu(float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = y[i] < 0.0f ? 0.0f : y[i];
}

/// Up to four rows: every weight is read once.
template <DType T>
void scoreFew(const Unit& u, const Room& room, float* memory) {
  float *packed = memory, *y = memory + kStreamRows * room.width;
  for (int stage = 0; stage < kGateStages; ++stage) {
    const int64_t in = u.a.w[stage].k, out = u.a.w[stage].n;
    for (int64_t i = 0; i < u.m; ++i)
      packRow<Widened<T>>(stage == 0 ? u.x(i) : y + i * room.width, in, packed + i * padded(in));
    const MatmulArgs product{.w = u.w(stage), .bias = u.b(stage), .y = y, .m = u.m, .yStride = room.width};
    streamRows<Widened<T>>(product, packed, 0, out);
    for (int64_t i = 0; i < u.m && stage < kGateStages - 1; ++i) relu(y + i * room.width, out);
  }
  for (int64_t i = 0; i < u.m; ++i) *u.out(i) = y[i * room.width];
}

/// Outputs [j0, j0 + n) of a stage.
template <DType T>
HWY_INLINE void panelOfStage(const Unit& u, const Room& room, int stage, int64_t j0, int64_t n, const float* x,
                             float* panel, float* y) {
  const int64_t in = u.a.w[stage].k, depth = padded(in);
  const uint8_t* w = static_cast<const uint8_t*>(u.w(stage).data) + j0 * in * dtypeBytes(T);
  for (int64_t j = 0; j < n; ++j) {
    readRow<T>(w + j * in * dtypeBytes(T), panel + j * room.width, in);
    std::fill(panel + j * room.width + in, panel + j * room.width + depth, 0.0f);
  }
  panelProduct({.x = x,
                .xStride = room.width,
                .m = u.m,
                .w = panel,
                .wStride = room.width,
                .n = n,
                .k16 = depth,
                .y = y + j0,
                .yStride = room.width});
  for (int64_t i = 0; i < u.m; ++i)
    for (int64_t j = j0; j < j0 + n; ++j) y[i * room.width + j] += u.b(stage)[j];
}

/// More rows: panels of weights are widened to f32 once for all of them.
template <DType T>
void scoreMany(const Unit& u, const Room& room, float* memory) {
  float *x = memory, *y = memory + kGateRows * room.width, *panel = memory + 2 * kGateRows * room.width;
  for (int64_t i = 0; i < u.m; ++i) std::copy(u.x(i), u.x(i) + u.a.headDim(), x + i * room.width);
  for (int stage = 0; stage < kGateStages; ++stage) {
    const int64_t in = u.a.w[stage].k, out = u.a.w[stage].n;
    for (int64_t i = 0; i < u.m; ++i) std::fill(x + i * room.width + in, x + i * room.width + padded(in), 0.0f);
    for (int64_t j = 0; j < out; j += kGateColumns)
      panelOfStage<T>(u, room, stage, j, std::min(kGateColumns, out - j), x, panel, y);
    for (int64_t i = 0; i < u.m && stage < kGateStages - 1; ++i) relu(y + i * room.width, out);
    std::swap(x, y);
  }
  for (int64_t i = 0; i < u.m; ++i) *u.out(i) = x[i * room.width];
}

/// Rows of a unit: as many as share a panel, fewer where threads would have nothing to do.
HWY_INLINE int64_t rowsPerUnit(const ThreadPool& pool, const GateMlpArgs& a) {
  const int64_t share = (a.n * a.gates() + 2 * pool.threads() - 1) / (2 * pool.threads());
  return std::clamp(std::min(a.n, (share + 11) / 12 * 12), int64_t{1}, kGateRows);
}

}  // namespace

void gateMlpTarget(ThreadPool& pool, const GateMlpArgs& args) {
  if (args.n <= 0 || args.gates() <= 0) return;
  const GateMlpArgs a = withStrides(args);
  const Room room(a);
  const int64_t rows = a.n <= kFewRows ? std::min(a.n, kStreamedRows) : rowsPerUnit(pool, a);
  const int64_t tiles = (a.n + rows - 1) / rows;
  const int64_t work = rows * a.hidden() * (a.headDim() + 2 * int64_t{a.hidden()});
  withDType(a.w[0].type, [&](auto type) {
    pool.parallelFor(0, a.gates() * tiles, std::max<int64_t>(1, kWorkPerTask / std::max<int64_t>(1, work)),
                     [&](int64_t from, int64_t to, int worker) {
                       auto* memory = reinterpret_cast<float*>(pool.scratch(worker, room.bytes(rows <= kStreamRows)));
                       for (int64_t i = from; i < to; ++i) {
                         const int64_t row0 = i % tiles * rows;
                         const Unit unit{a, i / tiles, row0, std::min(rows, a.n - row0)};
                         if (unit.m <= kStreamRows) scoreFew<type()>(unit, room, memory);
                         else scoreMany<type()>(unit, room, memory);
                       }
                     });
  });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {

KVLAB_CPU_OP(gateMlp, GateMlpArgs)

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
