// SPDX-License-Identifier: Apache-2.0
// startSplit() and startTiles() of attention_launch.h. Each instance is a file of its own (kernels/instances.cmake).
#pragma once

#include "kernels/cuda/attention/attention_launch.h"

namespace kvlab::kernels::cuda {

template <int kDim, bool kScaled>
int32_t startSplit(const Walk& w, int rows, const SplitShape& g) {
  if (rows == 1) return launchSplit<1, kDim, kScaled>(w.stream, w.args, w.plan, g, w.device);
  if (rows == 2) return launchSplit<2, kDim, kScaled>(w.stream, w.args, w.plan, g, w.device);
  if constexpr (kDim <= 128) {
    if (rows == 4) return launchSplit<4, kDim, kScaled>(w.stream, w.args, w.plan, g, w.device);
    if (rows == 8) return launchSplit<8, kDim, kScaled>(w.stream, w.args, w.plan, g, w.device);
  }
  return cudaErrorInvalidValue;
}

template <int kDim, bool kScaled>
int32_t startTiles(const Walk& w, const Grid& grid, const TileShape& g) {
  return launch(tileKernel<kDim, kScaled>, grid, kTileThreads, TileShared::bytes(kDim, g.pitch), w.stream, w.args,
                w.plan, g);
}

}  // namespace kvlab::kernels::cuda
