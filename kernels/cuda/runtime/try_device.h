// SPDX-License-Identifier: Apache-2.0
// Lets a device compute one product before anybody relies on the device. Opens a stream and takes some memory of the
// device, and gives both back. Any thread.
#pragma once

#include <string>

#include "kernels/cuda/runtime/module_api.h"

namespace kvlab::kernels {

/// The result of the trial. `error` is 0 or the first CUDA error; `why` names the fault of a result.
struct CudaTrial {
  int32_t error = 0;
  std::string why = {};  ///< a sentence without a full stop; empty where the result is right
};
CudaTrial tryDevice(const CudaApi& api);

}  // namespace kvlab::kernels
