// SPDX-License-Identifier: Apache-2.0
// A linear step through cuBLASLt: its single ops, with the products replaced.
#include "kernels/cuda/linear/fast.h"

#include <cstdio>

#include "kernels/cuda/linear/fast_library.h"
#include "kernels/cuda/linear/matmul_parts.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) addBiasKernel(float* y, const float* bias, int64_t n) {
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at < n) y[blockIdx.y * n + at] = y[blockIdx.y * n + at] + bias[at];
}

bool isFast(const LinearArgs& a) {
  if (a.m <= kFewRows || a.m > 65535 || a.k() < 1 || a.nParts < 1) return false;
  const DType type = a.parts[0].w.type;
  for (int i = 0; i < a.nParts; ++i)
    if (a.parts[i].w.type != type || a.parts[i].w.n < 1) return false;
  return type == DType::f16 || type == DType::bf16;
}

/// The ops of one call in turn. Products that cuBLASLt cannot do stay in the exact mode.
struct Step {
  cudaStream_t stream;
  Fast& fast;
  const LinearArgs& a;
  void* rounded;  ///< [m, k] of the weights' type
  int32_t error = 0;
  bool residualIsIn = false, isRounded = false;

  template <class Args>
  void run(const Args& args) {
    if (error == 0) error = runOp(stream, args);
  }
  void operator()(const RmsnormArgs& args) { run(args); }
  void operator()(const SwigluArgs& args) { run(args); }
  void operator()(const AddArgs& args) {
    if (!residualIsIn) run(args);
  }

  void operator()(const MatmulArgs& p) {
    if (!isRounded)
      run(ConvertArgs{.from = p.x, .fromType = DType::f32, .to = rounded, .toType = p.w.type, .count = p.m * p.w.k});
    isRounded = true;
    residualIsIn = a.residual && !p.bias;
    const float* c = residualIsIn ? a.residual : nullptr;
    bool there = false;
    if (error == 0)
      error = fast.multiply(stream, {p.w.data, rounded, c, c ? a.out : p.y, p.w.type, p.m, p.w.n, p.w.k}, &there);
    if (there) return bias(p);
    residualIsIn = false;
    run(p);
  }

  void bias(const MatmulArgs& p) {
    if (p.bias && error == 0)
      error = launch(addBiasKernel, {(p.w.n + kThreads - 1) / kThreads, p.m}, kThreads, 0, stream, p.y, p.bias, p.w.n);
  }
};

void say(CudaFast* out, const std::string& why) { snprintf(out->why, sizeof out->why, "%s", why.c_str()); }

}  // namespace

void findFast(CudaFast* out) { say(out, CublasLt().load()); }

void openFast(CudaFast* out) {
  std::string why;
  out->fast = Fast::open(&why).release();
  say(out, why);
}

void closeFast(void* fast) { delete static_cast<Fast*>(fast); }

int64_t fastScratchBytes(const LinearArgs& a) { return isFast(a) ? a.m * a.k() * dtypeBytes(a.parts[0].w.type) : 0; }

int32_t linearFast(void* stream, void* fast, const LinearArgs& a, void* scratch) {
  if (!isFast(a)) return linear(stream, a);
  Step step{static_cast<cudaStream_t>(stream), *static_cast<Fast*>(fast), a, scratch};
  eachLinearStep(a, [&step](const auto& args) { step(args); });
  return step.error;
}

const char* cublasErrorText(int32_t error) {
  switch (error - kCublasError) {
    case CUBLAS_STATUS_NOT_INITIALIZED: return "cuBLASLt is not initialised";
    case CUBLAS_STATUS_INVALID_VALUE: return "cuBLASLt refused an argument";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "cuBLASLt could not run a product";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "cuBLASLt does not support a product";
    default: return "cuBLASLt failed";
  }
}

}  // namespace kvlab::kernels::cuda
