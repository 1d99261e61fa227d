// SPDX-License-Identifier: Apache-2.0
// The split kernel for heads of up to 256 values, of formats with scales.
#include "kernels/cuda/attention/attention_launch.h"

namespace kvlab::kernels::cuda {

int32_t splitScaled256(const Walk& w, int rows, const SplitShape& g) {
  switch (rows) {
    case 1: return launchSplit<1, 256, true>(w.stream, w.args, w.plan, g, w.multiprocessors);
    case 2: return launchSplit<2, 256, true>(w.stream, w.args, w.plan, g, w.multiprocessors);
    default: return cudaErrorInvalidValue;
  }
}

}  // namespace kvlab::kernels::cuda
