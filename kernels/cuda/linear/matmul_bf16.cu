// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/linear/matmul_few.h"
#include "kernels/cuda/linear/matmul_tiled.h"

namespace kvlab::kernels::cuda {

template bool matmulFewFits<DType::bf16>(const MatmulArgs&, int64_t);
template int32_t matmulFew<DType::bf16>(void*, const MatmulArgs&);
template int32_t matmulTiled<DType::bf16>(void*, const MatmulArgs&);

}  // namespace kvlab::kernels::cuda
