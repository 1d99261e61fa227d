// SPDX-License-Identifier: Apache-2.0
// Row operations: a block for each row, or a thread for each row where a row is one cache line's worth
// of work. The arithmetic is that of row_parts.h.
#include "kernels/cuda/bounds.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/row_parts.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kThreads = 128;

/// For reading.
__device__ int64_t slotOf(const Bounds& bounds, const uint8_t* pool, const RowLayout& o, int32_t slot) {
  return bounds.of(IndexKind::slot, pool, o.stride).orZero(int64_t{slot});
}

/// Sum over the block in every thread of its first warp; exact, so the order does not matter.
__device__ uint64_t blockSum(uint64_t x) {
  __shared__ uint64_t warps[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) x += __shfl_down_sync(0xffffffffu, x, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
  __syncthreads();
  uint64_t sum = 0;
  for (int warp = 0; warp < kThreads / 32; ++warp) sum += warps[warp];
  return sum;
}

__global__ void __launch_bounds__(kThreads) writeRowsKernel(WriteRowsArgs a, RowLayout o, Bounds bounds) {
  const int64_t i = blockIdx.x;
  if (!bounds.of(IndexKind::slot, a.pool, o.stride).holds(a.slots[i])) return;
  const uint64_t sum = blockSum(writeRecordPart(a, o, i, threadIdx.x, kThreads));
  if (threadIdx.x == 0) finishRecord(a, o, i, sum);
}

__device__ void addTo(int64_t* at, uint64_t x) {  // two's complement: adding the unsigned number adds the signed one
  if (x > 0) atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(x));
}

__global__ void __launch_bounds__(kThreads) countRowsKernel(WriteRowsArgs a, int64_t values) {
  const int64_t i = blockIdx.x;
  uint64_t nonFinite = 0, clipped = 0;
  countPart(a.k + i * a.kStride, values, a.fmt.k, threadIdx.x, kThreads, nonFinite, clipped);
  countPart(a.v + i * a.vStride, values, a.fmt.v, threadIdx.x, kThreads, nonFinite, clipped);
  if (!__syncthreads_or(nonFinite > 0 || clipped > 0)) return;
  addTo(&a.stats->nonFinite, nonFinite);
  addTo(&a.stats->clipped, clipped);
}

__global__ void __launch_bounds__(kThreads) zeroRowsKernel(ZeroRowsArgs a, RowLayout o, Bounds bounds) {
  if (!bounds.of(IndexKind::slot, a.pool, o.stride).holds(a.slots[blockIdx.x])) return;
  auto* record = reinterpret_cast<uint4*>(a.pool + a.slots[blockIdx.x] * o.stride);
  for (int64_t at = threadIdx.x; at < o.stride / 16; at += kThreads) record[at] = make_uint4(0, 0, 0, 0);
}

__global__ void __launch_bounds__(kThreads) gatherRowsKernel(GatherRowsArgs a, RowLayout o, Bounds bounds) {
  const int64_t i = blockIdx.x, values = int64_t{a.fmt.kvHeads} * a.fmt.headDim;
  const uint8_t* record = a.pool + slotOf(bounds, a.pool, o, a.slots[i]) * o.stride;
  if (a.k) gatherPart(record + o.k, a.fmt.k, values, a.k + i * values, threadIdx.x, kThreads);
  if (a.v) gatherPart(record + o.v, a.fmt.v, values, a.v + i * values, threadIdx.x, kThreads);
}

__global__ void __launch_bounds__(kThreads) verifyRowsKernel(VerifyRowsArgs a, RowLayout o, Bounds bounds) {
  const int64_t i = blockIdx.x;
  const uint8_t* record = a.pool + slotOf(bounds, a.pool, o, a.slots[i]) * o.stride;
  const uint64_t sum = blockSum(checksumPart(record, o, threadIdx.x, kThreads));
  if (threadIdx.x != 0) return;
  a.verdicts[i] = verdictOf(record, o, sum, a.tags ? a.tags + i : nullptr);
  if (a.bad) addTo(a.bad, a.verdicts[i] != kRowGood);
}

__global__ void __launch_bounds__(kThreads) readTagsKernel(ReadTagsArgs a, RowLayout o, Bounds bounds) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= a.n) return;
  const uint8_t* record = a.pool + slotOf(bounds, a.pool, o, a.slots[i]) * o.stride;
  if (a.tags) memcpy(a.tags + i, record + o.tag, 8);
  if (a.checksums) memcpy(a.checksums + i, record + o.checksum, 8);
}

__global__ void __launch_bounds__(kThreads) matchTagsKernel(MatchTagsArgs a, Bounds bounds) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const PoolView view = a.pools[blockIdx.y];
  const RowLayout o = rowLayout(view.fmt);
  uint64_t tag = 0;
  if (i < a.n) memcpy(&tag, view.pool + slotOf(bounds, view.pool, o, a.slots[i]) * o.stride + o.tag, 8);
  const int wrong = __syncthreads_count(i < a.n && tag != a.tags[i]);
  if (threadIdx.x == 0) addTo(a.wrong + blockIdx.y, static_cast<uint64_t>(wrong));
}

int64_t blocks(int64_t n) { return (n + kThreads - 1) / kThreads; }

}  // namespace

int32_t writeRows(void* stream, const WriteRowsArgs& args) {
  WriteRowsArgs a = args;
  const int64_t values = int64_t{a.fmt.kvHeads} * a.fmt.headDim;
  if (a.kStride == 0) a.kStride = values;
  if (a.vStride == 0) a.vStride = values;
  if (a.stats) {
    if (const int32_t e = launch(countRowsKernel, a.n, kThreads, 0, stream, a, values)) return e;
  }
  return launch(writeRowsKernel, a.n, kThreads, 0, stream, a, rowLayout(a.fmt), boundsFor("writeRows"));
}

int32_t zeroRows(void* stream, const ZeroRowsArgs& a) {
  return launch(zeroRowsKernel, a.n, kThreads, 0, stream, a, rowLayout(a.fmt), boundsFor("zeroRows"));
}

int32_t gatherRows(void* stream, const GatherRowsArgs& a) {
  return launch(gatherRowsKernel, a.n, kThreads, 0, stream, a, rowLayout(a.fmt), boundsFor("gatherRows"));
}

int32_t verifyRows(void* stream, const VerifyRowsArgs& a) {
  if (a.bad) {
    if (const cudaError_t e = cudaMemsetAsync(a.bad, 0, 8, static_cast<cudaStream_t>(stream)); e != cudaSuccess) return e;
  }
  return launch(verifyRowsKernel, a.n, kThreads, 0, stream, a, rowLayout(a.fmt), boundsFor("verifyRows"));
}

int32_t readTags(void* stream, const ReadTagsArgs& a) {
  return launch(readTagsKernel, blocks(a.n), kThreads, 0, stream, a, rowLayout(a.fmt), boundsFor("readTags"));
}

int32_t matchTags(void* stream, const MatchTagsArgs& a) {
  if (a.nPools <= 0) return 0;
  const cudaError_t cleared = cudaMemsetAsync(a.wrong, 0, static_cast<size_t>(a.nPools) * 8, static_cast<cudaStream_t>(stream));
  if (cleared != cudaSuccess) return cleared;
  return launch(matchTagsKernel, {blocks(a.n), a.nPools}, kThreads, 0, stream, a, boundsFor("matchTags"));
}

}  // namespace kvlab::kernels::cuda
