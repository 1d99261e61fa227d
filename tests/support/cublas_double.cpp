// SPDX-License-Identifier: Apache-2.0
// The stand-in for cuBLASLt on the emulated device: its functions as kernels/cuda/linear/cublas_lt.h declares them,
// with checks of everything they are given, and products computed by this processor in an order of its own.
// KVLAB_CUBLAS_DOUBLE, read at every call: "create" and "matmul" fail there, "none": no shape has an algorithm.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "kernels/cuda/linear/cublas_lt.h"
#include "kernels/scalar_convert.h"

namespace {

using Enqueue = cudaError_t (*)(cudaStream_t, std::function<void()>);

struct State {
  Enqueue enqueue = nullptr;
  int64_t counts[3] = {};  // live objects, heuristics, products
};
State& state() {
  static State one;
  return one;
}

bool asked(const char* what) {
  const char* given = std::getenv("KVLAB_CUBLAS_DOUBLE");
  return given && std::string(given) == what;
}

template <class T>
cublasStatus_t make(T** out, T value) {
  *out = new T(value);
  ++state().counts[0];
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t destroy(T* one) {
  if (!one) return CUBLAS_STATUS_INVALID_VALUE;
  --state().counts[0];
  delete one;
  return CUBLAS_STATUS_SUCCESS;
}

float valueAt(cudaDataType_t type, const void* base, int64_t i) {
  if (type == CUDA_R_32F) return static_cast<const float*>(base)[i];
  const uint16_t bits = static_cast<const uint16_t*>(base)[i];
  return type == CUDA_R_16F ? kvlab::kernels::halfToFloat(bits) : kvlab::kernels::bf16ToFloat(bits);
}

}  // namespace

struct cublasLtContext {};
struct cublasLtMatmulDescOpaque_t {
  int32_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
};
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type;
  int64_t rows, columns, stride;
  friend bool operator==(const cublasLtMatrixLayoutOpaque_t&, const cublasLtMatrixLayoutOpaque_t&) = default;
};
struct cublasLtMatmulPreferenceOpaque_t {
  size_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

namespace {

/// The product that an algorithm is for, in its 64 bytes.
struct Algorithm {
  int64_t m, n, k;
  uint32_t alignment[4];
  uint64_t rest[3];
};
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));

/// d [m, n] = a^T b of matrices by columns, both of a 16-bit type.
bool fits(const cublasLtMatmulDescOpaque_t& product, const cublasLtMatrixLayoutOpaque_t& a,
          const cublasLtMatrixLayoutOpaque_t& b, const cublasLtMatrixLayoutOpaque_t& c,
          const cublasLtMatrixLayoutOpaque_t& d) {
  const auto dense = [](const auto& one) { return one.rows > 0 && one.columns > 0 && one.stride >= one.rows; };
  return product.a == CUBLAS_OP_T && product.b == CUBLAS_OP_N && dense(a) && dense(b) && dense(d) && c == d &&
      a.rows == b.rows && a.columns == d.rows && b.columns == d.columns && a.type == b.type && a.type != CUDA_R_32F &&
      d.type == CUDA_R_32F;
}

/// Seven sums side by side, which is nobody else's order.
float dot(const cublasLtMatrixLayoutOpaque_t& a, const void* as, int64_t i, const cublasLtMatrixLayoutOpaque_t& b,
          const void* bs, int64_t j) {
  float sums[7] = {};
  for (int64_t l = 0; l < a.rows; ++l)
    sums[l % 7] += valueAt(a.type, as, l + i * a.stride) * valueAt(b.type, bs, l + j * b.stride);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + sums[6]);
}

}  // namespace

#define SHOWN extern "C" __attribute__((visibility("default")))

SHOWN void kvlab_simt_meet(Enqueue enqueue) { state().enqueue = enqueue; }
SHOWN const int64_t* kvlab_double_counts() { return state().counts; }

SHOWN cublasStatus_t cublasLtCreate(cublasLtHandle_t* out) {
  return asked("create") ? CUBLAS_STATUS_NOT_INITIALIZED : make(out, cublasLtContext{});
}
SHOWN cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy(handle); }

SHOWN cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* out, cublasComputeType_t compute,
                                              cudaDataType_t scale) {
  if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  return make(out, cublasLtMatmulDescOpaque_t{});
}
SHOWN cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t one) { return destroy(one); }
SHOWN cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t one, cublasLtMatmulDescAttributes_t what,
                                                    const void* value, size_t bytes) {
  if (!one || bytes != 4) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(what == CUBLASLT_MATMUL_DESC_TRANSA ? &one->a : &one->b, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

SHOWN cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* out, cudaDataType_t type, uint64_t rows,
                                                uint64_t columns, int64_t stride) {
  return make(out,
              cublasLtMatrixLayoutOpaque_t{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), stride});
}
SHOWN cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t one) { return destroy(one); }

SHOWN cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* out) {
  return make(out, cublasLtMatmulPreferenceOpaque_t{});
}
SHOWN cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t one) { return destroy(one); }
SHOWN cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t one,
                                                          cublasLtMatmulPreferenceAttributes_t what, const void* value,
                                                          size_t bytes) {
  const bool isWorkspace = what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
  if (!one || bytes != (isWorkspace ? 8 : 4)) return CUBLAS_STATUS_INVALID_VALUE;
  if (isWorkspace) memcpy(&one->workspace, value, bytes);
  else memcpy(&one->alignment[what - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

SHOWN cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                                    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                    cublasLtMatmulPreference_t preference, int wanted,
                                                    cublasLtMatmulHeuristicResult_t* out, int* given) {
  ++state().counts[1];
  if (!handle || wanted < 1 || !fits(*product, *a, *b, *c, *d)) return CUBLAS_STATUS_INVALID_VALUE;
  if (asked("none")) return CUBLAS_STATUS_NOT_SUPPORTED;
  Algorithm algorithm{d->rows, d->columns, a->rows, {}, {}};
  memcpy(algorithm.alignment, preference->alignment, sizeof algorithm.alignment);
  out->state = CUBLAS_STATUS_SUCCESS;
  out->workspaceSize = preference->workspace / 2;
  memcpy(&out->algo, &algorithm, sizeof algorithm);
  *given = 1;
  return CUBLAS_STATUS_SUCCESS;
}

SHOWN cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha,
                                    const void* a, cublasLtMatrixLayout_t aIs, const void* b,
                                    cublasLtMatrixLayout_t bIs, const void* beta, const void* c,
                                    cublasLtMatrixLayout_t cIs, void* d, cublasLtMatrixLayout_t dIs,
                                    const cublasLtMatmulAlgo_t* how, void* workspace, size_t workspaceBytes,
                                    cudaStream_t stream) {
  ++state().counts[2];
  if (asked("matmul")) return CUBLAS_STATUS_EXECUTION_FAILED;
  Algorithm algorithm;
  memcpy(&algorithm, how, sizeof algorithm);
  if (!handle || !workspace || workspaceBytes == 0 || !fits(*product, *aIs, *bIs, *cIs, *dIs))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm.m != dIs->rows || algorithm.n != dIs->columns || algorithm.k != aIs->rows)
    return CUBLAS_STATUS_INVALID_VALUE;
  const void* all[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<uintptr_t>(all[i]) % algorithm.alignment[i] != 0) return CUBLAS_STATUS_INVALID_VALUE;
  const float scale = *static_cast<const float*>(alpha), added = *static_cast<const float*>(beta);
  const cudaError_t error = state().enqueue(stream, [=, x = *aIs, y = *bIs, z = *dIs] {
    for (int64_t j = 0; j < z.columns; ++j)
      for (int64_t i = 0; i < z.rows; ++i) {
        const int64_t at = i + j * z.stride;
        const float before = added != 0 ? added * static_cast<const float*>(c)[at] : 0.0f;
        static_cast<float*>(d)[at] = scale * dot(x, a, i, y, b, j) + before;
      }
  });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
