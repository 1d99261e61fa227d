// SPDX-License-Identifier: Apache-2.0
// The kernel on tensor cores for heads of 65 to 128 values.
#include "kernels/cuda/attention/attention_launch.h"

namespace kvlab::kernels::cuda {

int32_t walkMma128(const Walk& w, const Grid& grid, const TileShape& g) {
  switch ((w.args.fmt.headDim + 15) / 16) {
    case 5: return startMma<80>(w.stream, w.args, w.plan, grid, g);
    case 6: return startMma<96>(w.stream, w.args, w.plan, grid, g);
    case 7: return startMma<112>(w.stream, w.args, w.plan, grid, g);
    default: return startMma<128>(w.stream, w.args, w.plan, grid, g);
  }
}

}  // namespace kvlab::kernels::cuda
