// SPDX-License-Identifier: Apache-2.0
// The functions with which attention.cu starts the kernels that walk K and V: one per width of head, each in a file of
// its own, because each has many instances.
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
  int multiprocessors;
};

/// `rows` query heads a warp, a power of two up to 8 (2 in splitBlocks256).
int32_t splitBlocks64(const Walk&, int rows, const SplitShape&);
int32_t splitBlocks128(const Walk&, int rows, const SplitShape&);
int32_t splitBlocks256(const Walk&, int rows, const SplitShape&);

int32_t walkTiles64(const Walk&, const Grid&, const TileShape&);
int32_t walkTiles128(const Walk&, const Grid&, const TileShape&);
int32_t walkTiles256(const Walk&, const Grid&, const TileShape&);

/// 10 * major + minor of the code that this device runs: an older one where the driver compiled it; from 80 on walkMma*
/// work.
int32_t mmaCompiledFor(int* capability);
int32_t walkMma64(const Walk&, const Grid&, const TileShape&);
int32_t walkMma128(const Walk&, const Grid&, const TileShape&);

/// Heads of any size, formats with scales included (attention_plain.cu).
int32_t walkPlain(const Walk&);

// Splits and tiles of formats in which K or V has scales: instances of their own, so that the others stay small.
int32_t splitScaled64(const Walk&, int rows, const SplitShape&);
int32_t splitScaled128(const Walk&, int rows, const SplitShape&);
int32_t splitScaled256(const Walk&, int rows, const SplitShape&);

int32_t walkScaled64(const Walk&, const Grid&, const TileShape&);
int32_t walkScaled128(const Walk&, const Grid&, const TileShape&);
int32_t walkScaled256(const Walk&, const Grid&, const TileShape&);

}  // namespace kvlab::kernels::cuda
