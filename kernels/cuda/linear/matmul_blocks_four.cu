// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/linear/matmul_blocks.h"
#include "kernels/cuda/linear/matmul_tiled.h"

namespace kvlab::kernels::cuda {

template int32_t matmulBlocksFew<DType::q4_0>(void*, const MatmulArgs&);
template int32_t matmulTiled<DType::q4_0>(void*, const MatmulArgs&);
template int32_t matmulBlocksFew<DType::q4_1>(void*, const MatmulArgs&);
template int32_t matmulTiled<DType::q4_1>(void*, const MatmulArgs&);
template int32_t matmulBlocksFew<DType::mxfp4>(void*, const MatmulArgs&);
template int32_t matmulTiled<DType::mxfp4>(void*, const MatmulArgs&);

}  // namespace kvlab::kernels::cuda
