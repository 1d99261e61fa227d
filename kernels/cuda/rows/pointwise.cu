// SPDX-License-Identifier: Apache-2.0
// Value-by-value ops: a thread for each value; blocks walk on over the remaining values. Rows of the embedding table:
// blocks side by side along a row.
#include <algorithm>

#include "kernels/block_codes.h"
#include "kernels/cuda/runtime/bounds.h"
#include "kernels/cuda/runtime/device_math.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRowThreads = 128, kPerThread = 4;

__device__ int64_t firstValue() { return int64_t{blockIdx.x} * kThreads + threadIdx.x; }
__device__ int64_t valueStep() { return int64_t{gridDim.x} * kThreads; }
Grid gridFor(int64_t values) { return std::min<int64_t>((values + kThreads - 1) / kThreads, 4096); }

__global__ void __launch_bounds__(kThreads) widenKernel(ConvertArgs a) {
  for (int64_t i = firstValue(); i < a.count; i += valueStep())
    static_cast<float*>(a.to)[i] = valueOf(a.from, i, a.fromType);
}

template <DType T>
__global__ void __launch_bounds__(kThreads) widenBlocksKernel(ConvertArgs a) {
  for (int64_t i = firstValue(); i < a.count; i += valueStep())
    static_cast<float*>(a.to)[i] = blockValue<T>(static_cast<const uint8_t*>(a.from), i);
}

__global__ void __launch_bounds__(kThreads) narrowKernel(ConvertArgs a) {
  auto* to = static_cast<uint8_t*>(a.to);
  for (int64_t i = firstValue(); i < a.count; i += valueStep()) {
    const float x = static_cast<const float*>(a.from)[i];
    const uint16_t bits = a.toType == DType::f16 ? floatToHalf(x) : floatToBf16(x);
    memcpy(to + 2 * i, &bits, 2);
  }
}

__global__ void __launch_bounds__(kThreads) addKernel(AddArgs a) {
  for (int64_t i = firstValue(); i < a.count; i += valueStep()) a.out[i] = a.a[i] + a.b[i];
}

__global__ void __launch_bounds__(kThreads) swigluKernel(SwigluArgs a) {
  for (int64_t i = firstValue(); i < a.rows * a.dim; i += valueStep()) {
    const int64_t row = i / a.dim, at = i - row * a.dim;
    a.out[i] = swigluOf(a.gate[row * a.gateStride + at], a.up[row * a.upStride + at], a.function);
  }
}

__global__ void __launch_bounds__(kThreads) softcapKernel(SoftcapArgs a) {
  for (int64_t i = firstValue(); i < a.count; i += valueStep()) a.x[i] = cappedOf(a.x[i], a.cap);
}

template <DType T>
__global__ void __launch_bounds__(kRowThreads) embeddingKernel(EmbeddingArgs a, Bounds bounds) {
  const int64_t i = blockIdx.x, begin = int64_t{blockIdx.y} * kRowThreads * kPerThread + threadIdx.x;
  const int64_t rowBytes = dtypeRowBytes(T, a.dim),
                id = bounds.of(IndexKind::tokenId, a.table, rowBytes).orZero(int64_t{a.ids[i]});
  const auto* row = static_cast<const uint8_t*>(a.table) + id * rowBytes;
#pragma unroll
  for (int part = 0; part < kPerThread; ++part) {
    const int64_t at = begin + part * kRowThreads;
    if (at >= a.dim) return;
    float x;
    if constexpr (dtypeInBlocks(T)) x = blockValue<T>(row, at);
    else x = valueOf<T>(row, at);
    a.out[i * a.dim + at] = a.scale == 1.0f ? x : x * a.scale;
  }
}

}  // namespace

int32_t convert(void* stream, const ConvertArgs& a) {
  if (a.count <= 0) return 0;
  if (a.fromType == a.toType) {
    const auto bytes = static_cast<size_t>(dtypeRowBytes(a.toType, a.count));
    return a.from == a.to
        ? 0
        : cudaMemcpyAsync(a.to, a.from, bytes, cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream));
  }
  if (dtypeInBlocks(a.fromType)) {
    int32_t error = 0;
    withBlockType(a.fromType, [&](auto type) {
      error = launch(widenBlocksKernel<decltype(type)::value>, gridFor(a.count), kThreads, 0, stream, a);
    });
    return error;
  }
  return launch(a.toType == DType::f32 ? widenKernel : narrowKernel, gridFor(a.count), kThreads, 0, stream, a);
}

int32_t embedding(void* stream, const EmbeddingArgs& a) {
  const Grid grid{a.n, (a.dim + kRowThreads * kPerThread - 1) / (kRowThreads * kPerThread)};
  const Bounds bounds = boundsFor("embedding");
  switch (a.tableType) {
    case DType::f32: return launch(embeddingKernel<DType::f32>, grid, kRowThreads, 0, stream, a, bounds);
    case DType::f16: return launch(embeddingKernel<DType::f16>, grid, kRowThreads, 0, stream, a, bounds);
    case DType::bf16: return launch(embeddingKernel<DType::bf16>, grid, kRowThreads, 0, stream, a, bounds);
    default: break;
  }
  int32_t error = cudaErrorNotSupported;
  withBlockType(a.tableType, [&](auto type) {
    error = launch(embeddingKernel<decltype(type)::value>, grid, kRowThreads, 0, stream, a, bounds);
  });
  return error;
}

int32_t add(void* stream, const AddArgs& a) { return launch(addKernel, gridFor(a.count), kThreads, 0, stream, a); }

int32_t swiglu(void* stream, const SwigluArgs& args) {
  SwigluArgs a = args;
  if (a.gateStride == 0) a.gateStride = a.dim;
  if (a.upStride == 0) a.upStride = a.dim;
  return launch(swigluKernel, gridFor(a.rows * a.dim), kThreads, 0, stream, a);
}

int32_t softcap(void* stream, const SoftcapArgs& a) {
  return a.count <= 0 ? 0 : launch(softcapKernel, gridFor(a.count), kThreads, 0, stream, a);
}

}  // namespace kvlab::kernels::cuda
