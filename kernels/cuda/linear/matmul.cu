// SPDX-License-Identifier: Apache-2.0
// A product by the type of its weights.
#include "kernels/block_codes.h"
#include "kernels/cuda/linear/matmul_parts.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {

int32_t matmul(void* stream, const MatmulArgs& args) {
  if (args.m <= 0 || args.w.n <= 0) return 0;
  const MatmulArgs a = withStrides(args);
  switch (a.w.type) {
    case DType::f32: return matmulOf<DType::f32>(stream, a);
    case DType::f16: return matmulOf<DType::f16>(stream, a);
    case DType::bf16: return matmulOf<DType::bf16>(stream, a);
    case DType::i8: return matmulOf<DType::i8>(stream, a);
    default: break;
  }
  int32_t error = cudaErrorNotSupported;
  withBlockType(a.w.type, [&](auto type) { error = matmulOf<decltype(type)::value>(stream, a); });
  return error;
}

}  // namespace kvlab::kernels::cuda
