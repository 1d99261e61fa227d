// SPDX-License-Identifier: Apache-2.0
// The tile kernel for heads of up to 64 values, of formats with scales.
#include "kernels/cuda/attention/attention_launch.h"

namespace kvlab::kernels::cuda {

int32_t walkScaled64(const Walk& w, const Grid& grid, const TileShape& g) {
  return launch(tileKernel<64, true>, grid, kTileThreads, TileShared::bytes(64, g.pitch), w.stream, w.args, w.plan, g);
}

}  // namespace kvlab::kernels::cuda
