// SPDX-License-Identifier: Apache-2.0
// What the emulated device refuses, as the device of its profile would: launches over a limit, and code that its module
// has no image for. Functions return CUDA's error, or 0.
#pragma once

#include "cuda_runtime.h"
#include "device_profiles.h"

namespace kvlab::simt {

/// The one that KVLAB_SIMT_DEVICE names.
const DeviceProfile& deviceProfile();

/// Compute capabilities of what the device runs, 10 * major + minor; 0: the module has nothing for it.
struct Image {
  int ptx = 0, binary = 0;
};

/// Out of KVLAB_SIMT_IMAGES, by CUDA's rules: machine code runs on devices of its major version and no lower minor one;
/// the driver compiles PTX for any device that is not older.
Image imageFor(const DeviceProfile&);

cudaError_t refusal(const Launch&);

}  // namespace kvlab::simt
