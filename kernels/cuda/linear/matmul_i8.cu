// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/linear/matmul_few.h"
#include "kernels/cuda/linear/matmul_tiled.h"

namespace kvlab::kernels::cuda {

template bool matmulFewFits<DType::i8>(const MatmulArgs&, int64_t);
template int32_t matmulFew<DType::i8>(void*, const MatmulArgs&);
template int32_t matmulTiled<DType::i8>(void*, const MatmulArgs&);

}  // namespace kvlab::kernels::cuda
