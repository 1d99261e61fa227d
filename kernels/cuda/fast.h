// SPDX-License-Identifier: Apache-2.0
// "cuda-fast": linear steps of more than kFewRows rows go through cuBLASLt where their weights are f16 or bf16.
// What differs from "cuda-det": the input of a product (after the norm) is rounded to the weights' type, and
// sums are f32 in an order that cuBLASLt chooses for each shape. With u = 2^-8 (bf16) or 2^-11 (f16) a product
// is within (u + k 2^-23) sum |x_i w_i| of the exact mode; f16 values beyond 65 504 become infinite. Equal calls
// give equal bits on one device; a row's bits depend on the number of rows.
//
// The library is opened at run time: libcublasLt.so of the runtime's major version from where the system
// looks for libraries, or what KVLAB_CUBLASLT names.
#pragma once

#include "kernels/cuda/module_api.h"

namespace kvlab::kernels::cuda {

void findFast(CudaFast* out);
void openFast(CudaFast* out);
void closeFast(void* fast);
int64_t fastScratchBytes(const LinearArgs&);
int32_t linearFast(void* stream, void* fast, const LinearArgs&, void* scratch);

/// Text of kCublasError + a result of cuBLASLt.
const char* cublasErrorText(int32_t error);

}  // namespace kvlab::kernels::cuda
