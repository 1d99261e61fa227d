// SPDX-License-Identifier: Apache-2.0
// The functions with which attention.cu starts the kernels that walk K and V: one per width of head, each in a file of
// its own, because each has many instances; and the steps before and after.
#pragma once

#include "kernels/cuda/attention/attention_mma.h"
#include "kernels/cuda/attention/attention_split.h"
#include "kernels/cuda/attention/attention_tile.h"

namespace kvlab::kernels::cuda {

/// A batch of a call, and where it goes. Functions return 0 or a CUDA error.
struct Walk {
  const AttentionArgs& args;
  const AttentionPlan& plan;
  void* stream;
  DeviceShape device;
};

// For heads of up to kDim values: 64, 128 or 256. kScaled: K or V has scales; such instances are apart, so that the
// others stay small. attention_start.h has the definitions.

/// `rows` query heads a warp, a power of two up to 8 (2 for 256 values).
template <int kDim, bool kScaled>
int32_t startSplit(const Walk&, int rows, const SplitShape&);
template <int kDim, bool kScaled>
int32_t startTiles(const Walk&, const Grid&, const TileShape&);

/// 10 * major + minor of the code that this device runs: an older one where the driver compiled it; from 80 on walkMma*
/// work.
int32_t mmaCompiledFor(int* capability);
int32_t walkMma64(const Walk&, const Grid&, const TileShape&);
int32_t walkMma128(const Walk&, const Grid&, const TileShape&);

/// Heads of any size, formats with scales included (attention_plain.cu).
int32_t walkPlain(const Walk&);

// Attention reads its maps in many places. With KV_DEBUG_BOUNDS it reads checked copies of them instead, in which a bad
// slot or phase is 0 and a bad range is empty; otherwise these two do nothing (attention_guard.cu).

/// Bytes that the copies add to the scratch of a call.
int64_t attentionGuardBytes(const AttentionArgs&);
/// Makes the copies at the start of a.scratch, points `a` at them and at the rest of its scratch.
int32_t guardAttention(void* stream, AttentionArgs& a);

// The steps after the kernels that walk K and V (attention_merge.cu).

/// Merges p.values and p.states of nQueries queries strictly left to right into a.out; p.finals where stored.
int32_t mergeBlocks(void* stream, const AttentionArgs& a, const AttentionPlan& p);

/// Masses of the queries from p.stored on, out of p.kept, p.maxima and p.finals. `newest` says that the last
/// query of the batch is that of the call. Overwrites p.kept.
int32_t writeMasses(void* stream, const AttentionArgs& a, const AttentionPlan& p, bool newest);

}  // namespace kvlab::kernels::cuda
