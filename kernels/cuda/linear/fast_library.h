// SPDX-License-Identifier: Apache-2.0
// cuBLASLt, opened: its functions by name, and products with an algorithm kept for every shape. One owner; a
// product is enqueued and allocates nothing on the device.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "kernels/cuda/linear/cublas_lt.h"
#include "kernels/dtype.h"

namespace kvlab::kernels::cuda {

// clang-format off
#define KVLAB_CUBLASLT_FUNCTIONS(X) \
  X(Create) X(Destroy) X(MatmulDescCreate) X(MatmulDescDestroy) X(MatmulDescSetAttribute) X(MatrixLayoutCreate) \
  X(MatrixLayoutDestroy) X(MatmulPreferenceCreate) X(MatmulPreferenceDestroy) X(MatmulPreferenceSetAttribute) \
  X(MatmulAlgoGetHeuristic) X(Matmul)
// clang-format on

inline std::string libraryName() {
  if (const char* given = std::getenv("KVLAB_CUBLASLT")) return given;
  int version = 0;
  cudaRuntimeGetVersion(&version);
  return "libcublasLt.so." + std::to_string(version / 1000);
}

/// Stays open until the program ends.
struct CublasLt {
#define KVLAB_MEMBER(name) decltype(&::cublasLt##name) name = nullptr;
  KVLAB_CUBLASLT_FUNCTIONS(KVLAB_MEMBER)
#undef KVLAB_MEMBER

  /// Empty, or why not: a part of a sentence.
  std::string load() {
    const std::string name = libraryName();
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return dlerror();
#if !defined(__CUDACC__)
    if (!simt::introduce(library)) return name + " does not know the emulated device";
#endif
#define KVLAB_LOAD(function)                                                             \
  function = reinterpret_cast<decltype(function)>(dlsym(library, "cublasLt" #function)); \
  if (!function) return name + " has no cublasLt" #function;
    KVLAB_CUBLASLT_FUNCTIONS(KVLAB_LOAD)
#undef KVLAB_LOAD
    return {};
  }
};

/// y = x w^T (+ c); all dense, device addresses.
struct FastProduct {
  const void* w = nullptr;   ///< [n, k] of `type`
  const void* x = nullptr;   ///< [m, k] of `type`
  const float* c = nullptr;  ///< [m, n] or null; may be y
  float* y = nullptr;        ///< [m, n]
  DType type = DType::bf16;
  int64_t m = 0, n = 0, k = 0;
};

class Fast {
 public:
  static constexpr size_t kWorkspace = size_t{32} << 20;

  /// Null, and why.
  static std::unique_ptr<Fast> open(std::string* why) {
    std::unique_ptr<Fast> fast(new Fast);
    *why = fast->m_lt.load();
    if (!why->empty()) return nullptr;
    if (const cublasStatus_t status = fast->m_lt.Create(&fast->m_handle); status != CUBLAS_STATUS_SUCCESS) {
      fast->m_handle = nullptr;
      *why = "cuBLASLt did not start (status " + std::to_string(status) + ")";
      return nullptr;
    }
    if (cudaMalloc(&fast->m_workspace, kWorkspace) == cudaSuccess) return fast;
    cudaGetLastError();
    fast->m_workspace = nullptr;
    *why = std::to_string(kWorkspace >> 20) + " MiB for cuBLASLt were refused by the device";
    return nullptr;
  }
  ~Fast() {
    for (const auto& [key, plan] : m_plans) destroy(plan);
    if (m_workspace) cudaFree(m_workspace);
    if (m_handle) m_lt.Destroy(m_handle);
  }
  Fast(const Fast&) = delete;
  Fast& operator=(const Fast&) = delete;

  /// 0 or an error; *there is false where cuBLASLt has nothing for this shape, and nothing was enqueued.
  int32_t multiply(cudaStream_t stream, const FastProduct& p, bool* there) {
    const Key key = keyOf(p);
    auto found = m_plans.find(key);
    if (found == m_plans.end()) {
      Plan made;
      if (const cublasStatus_t status = make(key, made); status != CUBLAS_STATUS_SUCCESS) {
        destroy(made);
        return kCublasError + status;
      }
      found = m_plans.emplace(key, made).first;
    }
    const Plan& plan = found->second;
    *there = plan.there;
    if (!plan.there) return 0;
    const float one = 1.0f, added = p.c ? 1.0f : 0.0f;
    const cublasStatus_t status =
        m_lt.Matmul(m_handle, plan.product, &one, p.w, plan.w, p.x, plan.x, &added, p.c ? p.c : p.y, plan.y, p.y,
                    plan.y, &plan.algorithm, m_workspace, kWorkspace, stream);
    return status == CUBLAS_STATUS_SUCCESS ? 0 : kCublasError + status;
  }

 private:
  /// m, n, k, type, whether c is there, alignments of w, x, c, y.
  using Key = std::array<int64_t, 9>;
  struct Plan {
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t w = nullptr, x = nullptr, y = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    bool there = false;
  };

  Fast() = default;

  /// The largest power of two up to 256 that divides an address.
  static int64_t alignmentOf(const void* at) {
    const auto address = reinterpret_cast<uintptr_t>(at) | 256u;
    return static_cast<int64_t>(address & (~address + 1));
  }

  static Key keyOf(const FastProduct& p) {
    return {p.m,
            p.n,
            p.k,
            static_cast<int64_t>(p.type),
            p.c != nullptr,
            alignmentOf(p.w),
            alignmentOf(p.x),
            alignmentOf(p.c ? p.c : p.y),
            alignmentOf(p.y)};
  }

  /// cuBLASLt counts by columns: a matrix that is [m, n] by rows here is its n x m. So y^T = w x^T, where w by
  /// rows is its k x n, transposed.
  cublasStatus_t make(const Key& key, Plan& plan) {
    const auto [m, n, k, type, withC, wAt, xAt, cAt, yAt] = key;
    const auto values = static_cast<DType>(type) == DType::f16 ? CUDA_R_16F : CUDA_R_16BF;
    const auto u = [](int64_t size) { return static_cast<uint64_t>(size); };
    const int32_t transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
    cublasLtMatmulPreference_t preference = nullptr;
    cublasStatus_t status = m_lt.MatmulDescCreate(&plan.product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    const auto then = [&](auto call) { status = status == CUBLAS_STATUS_SUCCESS ? call() : status; };
    then([&] {
      return m_lt.MatmulDescSetAttribute(plan.product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
    });
    then([&] { return m_lt.MatmulDescSetAttribute(plan.product, CUBLASLT_MATMUL_DESC_TRANSB, &plain, sizeof plain); });
    then([&, k_ = k, n_ = n] { return m_lt.MatrixLayoutCreate(&plan.w, values, u(k_), u(n_), k_); });
    then([&, k_ = k, m_ = m] { return m_lt.MatrixLayoutCreate(&plan.x, values, u(k_), u(m_), k_); });
    then([&, n_ = n, m_ = m] { return m_lt.MatrixLayoutCreate(&plan.y, CUDA_R_32F, u(n_), u(m_), n_); });
    then([&] { return m_lt.MatmulPreferenceCreate(&preference); });
    then([&] { return choose(key, plan, preference); });
    if (preference) m_lt.MatmulPreferenceDestroy(preference);
    return status;
  }

  cublasStatus_t choose(const Key& key, Plan& plan, cublasLtMatmulPreference_t preference) {
    const size_t workspace = kWorkspace;
    cublasStatus_t status = m_lt.MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                              &workspace, sizeof workspace);
    constexpr cublasLtMatmulPreferenceAttributes_t kAlignments[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    for (size_t i = 0; i < 4 && status == CUBLAS_STATUS_SUCCESS; ++i) {
      const auto bytes = static_cast<uint32_t>(key[5 + i]);
      status = m_lt.MatmulPreferenceSetAttribute(preference, kAlignments[i], &bytes, sizeof bytes);
    }
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    cublasLtMatmulHeuristicResult_t best{};
    int given = 0;
    status = m_lt.MatmulAlgoGetHeuristic(m_handle, plan.product, plan.w, plan.x, plan.y, plan.y, preference, 1, &best,
                                         &given);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return CUBLAS_STATUS_SUCCESS;
    plan.there = status == CUBLAS_STATUS_SUCCESS && given > 0 && best.state == CUBLAS_STATUS_SUCCESS &&
        best.workspaceSize <= kWorkspace;
    plan.algorithm = best.algo;
    return status;
  }

  void destroy(const Plan& plan) {
    for (const cublasLtMatrixLayout_t layout : {plan.w, plan.x, plan.y})
      if (layout) m_lt.MatrixLayoutDestroy(layout);
    if (plan.product) m_lt.MatmulDescDestroy(plan.product);
  }

  CublasLt m_lt;
  cublasLtHandle_t m_handle = nullptr;
  void* m_workspace = nullptr;
  std::map<Key, Plan> m_plans;
};

}  // namespace kvlab::kernels::cuda
