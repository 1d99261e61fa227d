// SPDX-License-Identifier: Apache-2.0
// The tile kernel for heads of up to 128 values.
#include "kernels/cuda/attention/attention_launch.h"

namespace kvlab::kernels::cuda {

int32_t walkTiles128(const Walk& w, const Grid& grid, const TileShape& g) {
  return launch(tileKernel<128, false>, grid, kTileThreads, TileShared::bytes(128, g.pitch), w.stream, w.args, w.plan,
                g);
}

}  // namespace kvlab::kernels::cuda
