// SPDX-License-Identifier: Apache-2.0
// The split kernel for heads of up to 64 values.
#include "kernels/cuda/attention/attention_launch.h"

namespace kvlab::kernels::cuda {

int32_t splitBlocks64(const Walk& w, int rows, const SplitShape& g) {
  switch (rows) {
    case 1: return launchSplit<1, 64, false>(w.stream, w.args, w.plan, g, w.multiprocessors);
    case 2: return launchSplit<2, 64, false>(w.stream, w.args, w.plan, g, w.multiprocessors);
    case 4: return launchSplit<4, 64, false>(w.stream, w.args, w.plan, g, w.multiprocessors);
    case 8: return launchSplit<8, 64, false>(w.stream, w.args, w.plan, g, w.multiprocessors);
    default: return cudaErrorInvalidValue;
  }
}

}  // namespace kvlab::kernels::cuda
