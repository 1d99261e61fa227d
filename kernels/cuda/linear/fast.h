// SPDX-License-Identifier: Apache-2.0
// "cuda-fast": linear steps of more than kFewRows rows go through cuBLASLt where their weights are f16 or bf16.
// Differences from "cuda-det": the input of a product (after the norm) is rounded to the weights' type, and
// sums are f32 in an order that cuBLASLt chooses for each shape. With u = 2^-8 (bf16) or 2^-11 (f16) a product
// is within (u + k 2^-23) sum |x_i w_i| of the exact mode; f16 values beyond 65 504 become infinite. Equal calls
// give equal bits on one device; a row's bits depend on the number of rows.
//
// Attention of more than kSplitQueries queries over keys and values that are both f16 or both bf16, heads of up to 128
// values, no self rows, goes through tensor cores from compute capability 8.0 on. Differences: queries and rotated
// keys are rounded to the rows' type, as are exponentials before they meet values; sums are f32 in another order,
// and a device may cut their last bit off. A score is within e = |scale| (2u + u^2 + d 2^-22) sum |q_i k_i| of the
// exact mode's (keys rotated in their pool: u instead of 2u + u^2), a probability within a factor of exp(2e), and an
// output within (exp(2e) (1 + u) - 1) sum p_j |v_j|; with f16 values below 2^-14 are rounded by up to 2^-25 instead.
// The last bits of sums over n rows and of exponentials come on top: a factor of 1 + (n + 2 |largest score|) 2^-22.
// Equal calls give equal bits; a row has the same bits in every call that goes this way. A value that is no number
// reaches the queries of its tile that do not see its row, too.
//
// The library is opened at run time: libcublasLt.so of the runtime's major version from where the system
// looks for libraries, or what KVLAB_CUBLASLT names.
#pragma once

#include "kernels/cuda/runtime/module_api.h"

namespace kvlab::kernels::cuda {

void findFast(CudaFast* out);
void openFast(CudaFast* out);
void closeFast(void* fast);
int64_t fastScratchBytes(const LinearArgs&);
int32_t linearFast(void* stream, void* fast, const LinearArgs&, void* scratch);

/// attention() with its scratch; calls that tensor cores do not take are exact.
int32_t attentionFast(void* stream, const AttentionArgs&);

/// Text of kCublasError + a result of cuBLASLt.
const char* cublasErrorText(int32_t error);

}  // namespace kvlab::kernels::cuda
