// SPDX-License-Identifier: Apache-2.0
// Attention on a device (ops/attention.h), the same bits as the CPU's.
//
// Few queries (decode): the split kernel leaves one result per block of 64 keys in scratch, the merge kernel
// merges them left to right. Many queries (prefill): the tile kernel merges as it walks. Heads of more than 256 values,
// or of a number that 8 does not divide: the plain kernel, for any number of queries. Masses are scaled out of kept
// exponentials once the sums of whole rows are known. With other bits on tensor cores: fast.h.
//
// Cost of decode, derived, not measured: n rows, H query heads, G of them per KV head, headDim d, values of
// b bytes. Keys and values are 2 n (H / G) d b bytes, read once. A block leaves H (4 d + 8) bytes, written once
// and read once: about G / (16 b) of the former. For n = 131072, H = 32, G = 4, d = 128, b = 2 that is 537 MB and
// twice 34 MB; the latter fit a second-level cache of 50 MB, through which keys and values only pass. Keys
// rotated on read cost 4 d bytes of table a row more: 67 MB of memory, and as much out of that cache for every
// eight KV heads (a block of threads). At 4.3 TB/s: 125 microseconds for keys and values, 16 for the table, 8
// each for writing and reading block results where memory has to take them. The merge is a chain of n / 64 =
// 2048 steps of one multiply-add (4 cycles), at least 5 microseconds at 1.7 GHz, in H d / 32 = 128 warps. To
// keep 4.3 TB/s busy about 2.6 MB must be under way; eight warps on each of 132 multiprocessors, three stages
// of 4 KiB ahead, are up to 13 MB. Arithmetic, in warp instructions per block and KV head: 2 * 64 * d * G / 32
// = 2048 multiply-adds, about as many more to convert, rotate, fold and copy; at 32 KB a block four schedulers
// must issue some 2.5 of them a cycle to keep up with memory. With G = 8 arithmetic is the border, not memory.
#include <bit>
#include <cstddef>
#include <utility>

#include "kernels/cuda/attention/attention_launch.h"
#include "kernels/cuda/linear/fast.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

AttentionPlan planOf(const AttentionArgs& a, const ScratchSizes& sizes, int64_t stored) {
  const RowLayout layout = rowLayout(a.fmt);
  AttentionPlan p;
  p.kOffset = layout.k;
  p.vOffset = layout.v;
  p.kScales = dtypeHasScale(a.fmt.k) ? static_cast<int>(layout.kScales) : 0;
  p.vScales = dtypeHasScale(a.fmt.v) ? static_cast<int>(layout.vScales) : 0;
  p.stride = static_cast<int>(layout.stride);
  p.group = a.queryHeads / a.fmt.kvHeads;
  p.skew = skewOf(a.indexBase);
  p.blocks = blocksOfCall(a);
  p.stored = static_cast<int>(a.nQueries - stored);
  auto* at = static_cast<std::byte*>(a.scratch);
  const auto take = [&at](int64_t bytes) { return bytes == 0 ? nullptr : std::exchange(at, at + bytes); };
  p.values = reinterpret_cast<float*>(take(sizes.values));
  p.states = reinterpret_cast<RowStats*>(take(sizes.states));
  p.finals = reinterpret_cast<RowStats*>(take(sizes.finals));
  p.maxima = reinterpret_cast<float*>(take(sizes.maxima));
  p.kept = reinterpret_cast<float*>(take(sizes.kept));
  return p;
}

bool hasScales(const RowFormat& f) { return dtypeHasScale(f.k) || dtypeHasScale(f.v); }

StageRows stageRowsOf(int64_t headDim, DType t) {
  const int64_t pieces = (headDim * dtypeBytes(t) + 15) / 16, across = std::min<int64_t>(pieces, 32);
  StageRows rows;
  rows.pitch = static_cast<int>(rowPitch(headDim, t));
  rows.headBytes = static_cast<int>(headDim * dtypeBytes(t));
  rows.pieces = static_cast<int>(pieces);
  rows.across = SmallDivisor(across);
  rows.atOnce = static_cast<int>(32 / across);
  return rows;
}

SplitShape splitShapeOf(const AttentionArgs& a, const AttentionPlan& p, const DeviceShape& device) {
  SplitShape g;
  g.k = stageRowsOf(a.fmt.headDim, a.fmt.k);
  g.v = stageRowsOf(a.fmt.headDim, a.fmt.v);
  g.rowsPerStage = rowsPerStage(a.fmt.headDim, std::max(dtypeBytes(a.fmt.k), dtypeBytes(a.fmt.v)));
  g.scalesAt = g.rowsPerStage * std::max(g.k.pitch, g.v.pitch);
  g.stageBytes = g.scalesAt + (hasScales(a.fmt) ? g.rowsPerStage * 4 : 0);
  g.headTile = splitHeads(p.group, a.fmt.headDim, p.blocks * a.fmt.kvHeads * a.nQueries,
                          int64_t{kBusy} * device.multiprocessors);
  g.headTiles = (p.group + g.headTile - 1) / g.headTile;
  return g;
}

int32_t splitBlocks(const Walk& w) {
  const AttentionArgs& a = w.args;
  const SplitShape g = splitShapeOf(a, w.plan, w.device);
  const int width = a.fmt.headDim <= 64 ? 0 : a.fmt.headDim <= 128 ? 1 : 2;
  constexpr decltype(&startSplit<64, false>) kStarts[2][3] = {
      {&startSplit<64, false>, &startSplit<128, false>, &startSplit<256, false>},
      {&startSplit<64, true>, &startSplit<128, true>, &startSplit<256, true>}};
  const int32_t error =
      kStarts[hasScales(a.fmt)][width](w, static_cast<int>(std::bit_ceil(static_cast<unsigned>(g.headTile))), g);
  return error ? error : mergeBlocks(w.stream, a, w.plan);
}

TileShape tileShapeOf(const Walk& w, int rows) {
  TileShape g;
  g.heads = std::min(w.plan.group, rows);
  g.headTiles = (w.plan.group + g.heads - 1) / g.heads;
  g.queries = rows / g.heads;
  g.headsOf = SmallDivisor(g.heads);
  g.quadsOf = SmallDivisor(w.args.fmt.headDim / 8);
  return g;
}

Grid gridOf(const AttentionArgs& a, const TileShape& g) {
  return {(a.nQueries + g.queries - 1) / g.queries, int64_t{a.fmt.kvHeads} * g.headTiles};
}

int32_t walkMma(const Walk& w) {
  const TileShape g = tileShapeOf(w, kMmaRows);
  return (w.args.fmt.headDim <= 64 ? walkMma64 : walkMma128)(w, gridOf(w.args, g), g);
}

int32_t walkTiles(const Walk& w) {
  const AttentionArgs& a = w.args;
  TileShape g = tileShapeOf(w, kTileRows);
  g.pitch = tilePitch(a.fmt.headDim);
  const int width = a.fmt.headDim <= 64 ? 0 : a.fmt.headDim <= 128 ? 1 : 2;
  constexpr decltype(&startTiles<64, false>) kStarts[2][3] = {
      {&startTiles<64, false>, &startTiles<128, false>, &startTiles<256, false>},
      {&startTiles<64, true>, &startTiles<128, true>, &startTiles<256, true>}};
  return kStarts[hasScales(a.fmt)][width](w, gridOf(a, g), g);
}

/// *fits: whether walkMma() takes this call, if it is not split. Returns a CUDA error or 0.
int32_t askForMma(const AttentionArgs& a, bool* fits) {
  int capability = 0;
  const int32_t error = mmaCompiledFor(&capability);
  const bool type = a.fmt.k == a.fmt.v && (a.fmt.k == DType::f16 || a.fmt.k == DType::bf16);
  *fits = capability >= 80 && type && takesWords(a.fmt) && a.fmt.headDim <= 128 && !a.selfSlot;
  return error;
}

/// Queries [q0, q1) of a call as a call of their own.
AttentionArgs batchOf(const AttentionArgs& args, int64_t q0, int64_t q1) {
  AttentionArgs a = args;
  a.queries += q0 * a.queryStride;
  a.out += q0 * a.outStride;
  a.rowBegin += q0;
  a.rowEnd += q0;
  if (a.selfSlot) a.selfSlot += q0;
  if (a.selfPhaseIndex) a.selfPhaseIndex += q0;
  if (a.queryIndex) a.queryIndex += q0;
  a.nQueries = q1 - q0;
  return a;
}

int32_t clearNewest(void* stream, const AttentionArgs& a) {
  const auto clear = [&](float* to, int64_t rows) -> cudaError_t {
    if (!to) return cudaSuccess;
    return cudaMemsetAsync(to, 0, static_cast<size_t>(rows * (a.rows + 1) * 4), static_cast<cudaStream_t>(stream));
  };
  if (const cudaError_t error = clear(a.mass.newest, 1); error != cudaSuccess) return error;
  return clear(a.mass.newestPerHead, a.queryHeads);
}

int32_t attend(void* stream, const AttentionArgs& args, bool fast) {
  AttentionArgs a = args;
  if (a.nQueries <= 0) return 0;
  if (!a.scratch && attentionScratchBytes(a) > 0) return cudaErrorInvalidValue;
  const int64_t width = int64_t{a.queryHeads} * a.fmt.headDim;
  if (a.queryStride == 0) a.queryStride = width;
  if (a.outStride == 0) a.outStride = width;
  DeviceShape device;
  if (const cudaError_t error = askForShape(&device); error != cudaSuccess) return error;
  bool mma = false;
  if (fast)
    if (const int32_t error = askForMma(a, &mma)) return error;
  if (const int32_t error = guardAttention(stream, a)) return error;
  if (const int32_t error = clearNewest(stream, a)) return error;
  const auto walk = !takesWords(a.fmt) ? walkPlain : splitsKeys(a) ? splitBlocks : mma ? walkMma : walkTiles;
  const int64_t each = queriesPerBatch(a);
  for (int64_t q0 = 0; q0 < a.nQueries; q0 += each) {
    const int64_t q1 = std::min(a.nQueries, q0 + each), stored = storedOf(a, q1 - q0, q1);
    const AttentionArgs batch = batchOf(a, q0, q1);
    const AttentionPlan p = planOf(batch, scratchOf(a, q1 - q0, stored), stored);
    int32_t error = walk({batch, p, stream, device});
    if (!error && stored > 0) error = writeMasses(stream, batch, p, q1 == a.nQueries);
    if (error) return error;
  }
  return 0;
}

}  // namespace

int64_t attentionScratchBytes(const AttentionArgs& a) {
  if (a.nQueries <= 0) return 0;
  const int64_t queries = std::min(queriesPerBatch(a), a.nQueries);
  return scratchOf(a, queries, storedOf(a, queries, a.nQueries)).all() + attentionGuardBytes(a);
}

int32_t attention(void* stream, const AttentionArgs& a) { return attend(stream, a, false); }
int32_t attentionFast(void* stream, const AttentionArgs& a) { return attend(stream, a, true); }

}  // namespace kvlab::kernels::cuda
