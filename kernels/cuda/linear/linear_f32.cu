// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/linear/linear_few.h"

namespace kvlab::kernels::cuda {

template bool linearFew<DType::f32>(void*, const LinearArgs&, const DeviceShape&, int32_t*);

}  // namespace kvlab::kernels::cuda
