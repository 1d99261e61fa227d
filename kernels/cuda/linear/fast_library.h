// SPDX-License-Identifier: Apache-2.0
// cuBLASLt, opened: its functions by name, and products with an algorithm kept for every shape. One owner; a
// product is enqueued and allocates nothing on the device.
#pragma once

#include <array>
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

/// Stays open until the program ends.
struct CublasLt {
#define KVLAB_MEMBER(name) decltype(&::cublasLt##name) name = nullptr;
  KVLAB_CUBLASLT_FUNCTIONS(KVLAB_MEMBER)
#undef KVLAB_MEMBER

  /// Empty, or why not: a part of a sentence.
  std::string load();
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
  static std::unique_ptr<Fast> open(std::string* why);
  ~Fast();
  Fast(const Fast&) = delete;
  Fast& operator=(const Fast&) = delete;

  /// 0 or an error; *there is false where cuBLASLt has nothing for this shape, and nothing was enqueued.
  int32_t multiply(cudaStream_t stream, const FastProduct&, bool* there);

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
  static Key keyOf(const FastProduct&);
  cublasStatus_t make(const Key&, Plan&);
  cublasStatus_t choose(const Key&, Plan&, cublasLtMatmulPreference_t);
  void destroy(const Plan&);

  CublasLt m_lt;
  cublasLtHandle_t m_handle = nullptr;
  void* m_workspace = nullptr;
  std::map<Key, Plan> m_plans;
};

}  // namespace kvlab::kernels::cuda
