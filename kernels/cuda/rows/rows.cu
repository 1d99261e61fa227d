// SPDX-License-Identifier: Apache-2.0
// Row operations: a block for each row, or a thread for each row where a row is one cache line's worth
// of work. The arithmetic is that of row_parts.h.
#include "kernels/cuda/rows/row_parts.h"
#include "kernels/cuda/runtime/bounds.h"
#include "kernels/cuda/runtime/device_math.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kNormLanes = 16, kNormRows = kThreads / kNormLanes;

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

__device__ void addTo(int64_t* at, uint64_t x) {  // two's complement: adding the unsigned number adds the signed one
  if (x > 0) atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(x));
}

/// Counts of a block of threads in shared memory. Each number is added to the caller's counts once at the end.
__device__ TensorStats* blockStats() {
  __shared__ __align__(8) uint8_t memory[2 * sizeof(TensorStats)];
  return reinterpret_cast<TensorStats*>(memory);
}

/// Positive floats order as integers.
__device__ void countScale(float scale, TensorStats& stats) {
  if (scale != scale) return;
  const ScaleWords words = scaleWords(scale);
  addTo(&stats.scales, 1);
  addTo(&stats.floored, scale == kScaleFloor);
  atomicMin(reinterpret_cast<int*>(&stats.scaleMin), std::bit_cast<int>(scale));
  atomicMax(reinterpret_cast<int*>(&stats.scaleMax), std::bit_cast<int>(scale));
  addTo(reinterpret_cast<int64_t*>(&stats.scaleSum[words.first]), words.low);
  addTo(reinterpret_cast<int64_t*>(&stats.scaleSum[words.first + 1]), words.high);
}

/// The counts of a warp.
__device__ void addCounts(const PartCounts& counts, TensorStats& stats) {
  const auto add = [](uint64_t x, int64_t* at) {
    for (int step = 16; step > 0; step /= 2) x += __shfl_down_sync(0xffffffffu, x, step);
    if (threadIdx.x % 32 == 0) addTo(at, x);
  };
  add(counts.nonFinite, &stats.nonFinite);
  add(counts.clipped, &stats.clipped);
  add(counts.atMax, &stats.atMax);
}

/// Scales of a tensor into the record, a warp for each head.
__device__ void writeScales(const TensorPart& p, int64_t heads, TensorStats* stats) {
  if (!dtypeHasScale(p.type)) return;
  for (int64_t head = threadIdx.x / 32; head < heads; head += kThreads / 32) {
    uint32_t most = amaxPart(p, head, threadIdx.x % 32, 32);
    for (int step = 16; step > 0; step /= 2) {
      const uint32_t other = __shfl_xor_sync(0xffffffffu, most, step);
      most = most < other ? other : most;
    }
    if (threadIdx.x % 32 != 0) continue;
    const float scale = scaleOf(most, p.type);
    memcpy(p.scales + 4 * head, &scale, 4);
    if (stats) countScale(scale, *stats);
  }
}

__device__ void addStats(const TensorStats& from, TensorStats& to) {
  addTo(&to.nonFinite, static_cast<uint64_t>(from.nonFinite));
  addTo(&to.clipped, static_cast<uint64_t>(from.clipped));
  addTo(&to.atMax, static_cast<uint64_t>(from.atMax));
  addTo(&to.scales, static_cast<uint64_t>(from.scales));
  addTo(&to.floored, static_cast<uint64_t>(from.floored));
  for (int i = 0; i < TensorStats::kSumWords; ++i) addTo(reinterpret_cast<int64_t*>(&to.scaleSum[i]), from.scaleSum[i]);
  if (from.scales == 0) return;
  atomicMin(reinterpret_cast<int*>(&to.scaleMin), std::bit_cast<int>(from.scaleMin));
  atomicMax(reinterpret_cast<int*>(&to.scaleMax), std::bit_cast<int>(from.scaleMax));
}

__global__ void __launch_bounds__(kThreads, 4) writeRowsKernel(WriteRowsArgs a, RowLayout o, Bounds bounds) {
  const int64_t i = blockIdx.x;
  if (!bounds.of(IndexKind::slot, a.pool, o.stride).holds(a.slots[i])) return;
  TensorStats* seen = blockStats();
  if (a.stats && threadIdx.x < 2) seen[threadIdx.x] = TensorStats();
  __syncthreads();
  writeScales(tensorOf(a, o, i, false), a.fmt.kvHeads, a.stats ? &seen[0] : nullptr);
  writeScales(tensorOf(a, o, i, true), a.fmt.kvHeads, a.stats ? &seen[1] : nullptr);
  __syncthreads();
  PartCounts k, v;
  const uint64_t sum = blockSum(writeRecordPart(a, o, i, threadIdx.x, kThreads, k, v));
  if (threadIdx.x == 0) finishRecord(a, o, i, sum);
  if (!a.stats) return;
  addCounts(k, seen[0]);
  addCounts(v, seen[1]);
  __syncthreads();
  if (threadIdx.x == 0) addStats(seen[0], a.stats->k);
  if (threadIdx.x == 32) addStats(seen[1], a.stats->v);
}

__global__ void __launch_bounds__(kThreads) zeroRowsKernel(ZeroRowsArgs a, RowLayout o, Bounds bounds) {
  if (!bounds.of(IndexKind::slot, a.pool, o.stride).holds(a.slots[blockIdx.x])) return;
  auto* record = reinterpret_cast<uint4*>(a.pool + a.slots[blockIdx.x] * o.stride);
  for (int64_t at = threadIdx.x; at < o.stride / 16; at += kThreads) record[at] = make_uint4(0, 0, 0, 0);
}

__global__ void __launch_bounds__(kThreads) gatherRowsKernel(GatherRowsArgs a, RowLayout o, Bounds bounds) {
  const int64_t i = blockIdx.x, values = int64_t{a.fmt.kvHeads} * a.fmt.headDim;
  const uint8_t* record = a.pool + slotOf(bounds, a.pool, o, a.slots[i]) * o.stride;
  if (a.k)
    gatherPart(record + o.k, record + o.kScales, a.fmt.k, values, a.fmt.headDim, a.k + i * values, threadIdx.x,
               kThreads);
  if (a.v)
    gatherPart(record + o.v, record + o.vScales, a.fmt.v, values, a.fmt.headDim, a.v + i * values, threadIdx.x,
               kThreads);
}

__global__ void __launch_bounds__(kThreads) verifyRowsKernel(VerifyRowsArgs a, RowLayout o, Bounds bounds) {
  const int64_t i = blockIdx.x;
  const uint8_t* record = a.pool + slotOf(bounds, a.pool, o, a.slots[i]) * o.stride;
  const uint64_t sum = blockSum(checksumPart(record, o, threadIdx.x, kThreads));
  if (threadIdx.x != 0) return;
  a.verdicts[i] = verdictOf(record, o, a.fmt, sum, a.tags ? a.tags + i : nullptr);
  if (a.bad) addTo(a.bad, a.verdicts[i] != kRowGood);
}

__global__ void __launch_bounds__(kThreads) readTagsKernel(ReadTagsArgs a, RowLayout o, Bounds bounds) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= a.n) return;
  const uint8_t* record = a.pool + slotOf(bounds, a.pool, o, a.slots[i]) * o.stride;
  if (a.tags) a.tags[i] = readTag(record, o, a.fmt);
  if (a.checksums) memcpy(a.checksums + i, record + o.checksum, 8);
}

/// One tensor of row i. Every thread of the block comes here.
__device__ void readTensorScales(DType t, int64_t heads, int64_t values, const uint8_t* from, const uint8_t* scalesAt,
                                 float* scales, int32_t* atMax) {
  for (int64_t head = threadIdx.x; scales && head < heads; head += kThreads) {
    scales[head] = 1.0f;
    if (dtypeHasScale(t)) memcpy(scales + head, scalesAt + 4 * head, 4);
  }
  if (!atMax) return;
  int found = 0;
  for (int64_t e = threadIdx.x; dtypeHasScale(t) && e < values; e += kThreads) found += quantAtMax(from[e], t);
  __syncthreads();  // sums of the tensor before are read
  const uint64_t sum = blockSum(static_cast<uint64_t>(found));
  if (threadIdx.x == 0) *atMax = static_cast<int32_t>(sum);
}

__global__ void __launch_bounds__(kThreads) readScalesKernel(ReadScalesArgs a, RowLayout o, Bounds bounds) {
  const int64_t i = blockIdx.x, heads = a.fmt.kvHeads, values = heads * a.fmt.headDim;
  const uint8_t* record = a.pool + slotOf(bounds, a.pool, o, a.slots[i]) * o.stride;
  readTensorScales(a.fmt.k, heads, values, record + o.k, record + o.kScales, a.k ? a.k + i * heads : nullptr,
                   a.kAtMax ? a.kAtMax + i : nullptr);
  readTensorScales(a.fmt.v, heads, values, record + o.v, record + o.vScales, a.v ? a.v + i * heads : nullptr,
                   a.vAtMax ? a.vAtMax + i : nullptr);
}

__global__ void __launch_bounds__(kThreads) matchTagsKernel(MatchTagsArgs a, Bounds bounds) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const PoolView view = a.pools[blockIdx.y];
  const RowLayout o = rowLayout(view.fmt);
  uint64_t tag = 0;
  if (i < a.n) tag = readTag(view.pool + slotOf(bounds, view.pool, o, a.slots[i]) * o.stride, o, view.fmt);
  const int wrong = __syncthreads_count(i < a.n && tag != a.tags[i]);
  if (threadIdx.x == 0) addTo(a.wrong + blockIdx.y, static_cast<uint64_t>(wrong));
}

/// Norm of one tensor of a record by 16 threads, a lane each.
__device__ float normOf(const RowFormat& f, DType type, const uint8_t* from, const uint8_t* scales) {
  float sum = 0.0f;
  for (int64_t e = threadIdx.x % kNormLanes; e < int64_t{f.kvHeads} * f.headDim; e += kNormLanes) {
    const float x = storedValue(from, scales, type, f.headDim, e);
    sum = fmaf(x, x, sum);
  }
  return sqrtf(treeOverThreads(kWholeWarp, sum));
}

/// Threads beyond the last row repeat it.
__global__ void __launch_bounds__(kThreads) rowNormsKernel(RowNormsArgs a, RowLayout o, Bounds bounds) {
  const int64_t row = int64_t{blockIdx.x} * kNormRows + threadIdx.x / kNormLanes, i = row < a.n ? row : a.n - 1;
  const uint8_t* record = a.pool + slotOf(bounds, a.pool, o, a.slots[i]) * o.stride;
  const bool writes = threadIdx.x % kNormLanes == 0 && row < a.n;
  if (a.k) {
    const float norm = normOf(a.fmt, a.fmt.k, record + o.k, record + o.kScales);
    if (writes) a.k[row] = norm;
  }
  if (a.v) {
    const float norm = normOf(a.fmt, a.fmt.v, record + o.v, record + o.vScales);
    if (writes) a.v[row] = norm;
  }
}

int64_t blocks(int64_t n) { return (n + kThreads - 1) / kThreads; }

}  // namespace

int32_t writeRows(void* stream, const WriteRowsArgs& args) {
  WriteRowsArgs a = args;
  const int64_t values = int64_t{a.fmt.kvHeads} * a.fmt.headDim;
  if (a.kStride == 0) a.kStride = values;
  if (a.vStride == 0) a.vStride = values;
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
    if (const cudaError_t e = cudaMemsetAsync(a.bad, 0, 8, static_cast<cudaStream_t>(stream)); e != cudaSuccess)
      return e;
  }
  return launch(verifyRowsKernel, a.n, kThreads, 0, stream, a, rowLayout(a.fmt), boundsFor("verifyRows"));
}

int32_t readTags(void* stream, const ReadTagsArgs& a) {
  return launch(readTagsKernel, blocks(a.n), kThreads, 0, stream, a, rowLayout(a.fmt), boundsFor("readTags"));
}

int32_t readScales(void* stream, const ReadScalesArgs& a) {
  return launch(readScalesKernel, a.n, kThreads, 0, stream, a, rowLayout(a.fmt), boundsFor("readScales"));
}

int32_t rowNorms(void* stream, const RowNormsArgs& a) {
  return launch(rowNormsKernel, (a.n + kNormRows - 1) / kNormRows, kThreads, 0, stream, a, rowLayout(a.fmt),
                boundsFor("rowNorms"));
}

int32_t matchTags(void* stream, const MatchTagsArgs& a) {
  if (a.nPools <= 0) return 0;
  const cudaError_t cleared =
      cudaMemsetAsync(a.wrong, 0, static_cast<size_t>(a.nPools) * 8, static_cast<cudaStream_t>(stream));
  if (cleared != cudaSuccess) return cleared;
  return launch(matchTagsKernel, {blocks(a.n), a.nPools}, kThreads, 0, stream, a, boundsFor("matchTags"));
}

}  // namespace kvlab::kernels::cuda
