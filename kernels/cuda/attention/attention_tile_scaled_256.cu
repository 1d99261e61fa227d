// SPDX-License-Identifier: Apache-2.0
// The tile kernel for heads of up to 256 values, of formats with scales.
#include "kernels/cuda/attention/attention_launch.h"

namespace kvlab::kernels::cuda {

int32_t walkScaled256(const Walk& w, const Grid& grid, const TileShape& g) {
  return launch(tileKernel<256, true>, grid, kTileThreads, TileShared::bytes(256, g.pitch), w.stream, w.args, w.plan,
                g);
}

}  // namespace kvlab::kernels::cuda
