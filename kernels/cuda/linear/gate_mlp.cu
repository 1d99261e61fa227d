// SPDX-License-Identifier: Apache-2.0
// The gate MLP: a block of threads takes one gate (layer, KV head) and one or four rows through all stages;
// activations stay in shared memory. Two neighbouring threads own an output and each eight of its 16 virtual
// lanes, so that every load of weights is 16 bytes of 32 that lie together, and 512 threads take a stage of 256
// outputs at once, 128 KiB under way. All weights of the gate are asked into the second-level cache first.
//
// Its cost, derived, not measured: a gate of headDim 64 and hidden 256 in bf16 is 295 KB. One multiprocessor
// reads about 64 bytes a cycle out of that cache: 4 600 cycles, 2.7 microseconds at 1.7 GHz, and four latencies.
// 88 gates (22 layers of 4 KV heads) of one call run side by side on 132 multiprocessors: 26 MB, 6 microseconds
// at 4.3 TB/s where memory has to give them. Layer by layer it would be 22 times the former.
#include <algorithm>

#include "kernels/cuda/linear/matmul_parts.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

constexpr int kMaxThreads = 512;
constexpr int kLanesOfThread = 8;
constexpr int kManyRows = 4;

/// Asks for the 128 bytes at an address of this device.
__device__ __forceinline__ void askFor([[maybe_unused]] const uint8_t* at) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

template <DType T, int kRows, bool kAligned>
class GateRows {
  static constexpr int kBytes = static_cast<int>(dtypeBytes(T));
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  static constexpr int kUnroll = 1;  ///< steps of 16 values; few registers
#else
  static constexpr int kUnroll = !kAligned ? 1 : kRows > 1 ? 4 : kBytes < 4 ? 8 : 2;
#endif

 public:
  __device__ GateRows(const GateMlpArgs& args, int width)
      : a(args),
        m_width(width),
        m_thread(static_cast<int>(threadIdx.x)),
        m_threads(static_cast<int>(blockDim.x)),
        m_gate(blockIdx.y),
        m_row(int64_t{blockIdx.x} * kRows),
        m_from(dynamicShared<float>()),
        m_to(m_from + kRows * width) {}

  __device__ void run() {
    if (blockIdx.x == 0) askForWeights();
    bringX();
    for (int stage = 0; stage < kGateStages; ++stage) {
      // Selected, not indexed: an index would bring the arguments to local memory.
      const void* w = stage == 0 ? a.w[0].data : stage == 1 ? a.w[1].data : stage == 2 ? a.w[2].data : a.w[3].data;
      const float* b = stage == 0 ? a.b[0] : stage == 1 ? a.b[1] : stage == 2 ? a.b[2] : a.b[3];
      products(stage, static_cast<const uint8_t*>(w), b);
      __syncthreads();
      float* const read = m_from;
      m_from = m_to;
      m_to = read;
    }
    const int64_t layer = m_gate / a.kvHeads, head = m_gate - layer * a.kvHeads;
    if (m_thread < kRows && m_row + m_thread < a.n)
      a.out[layer * a.outLayerStride + (m_row + m_thread) * a.outStride + head] = m_from[m_thread * m_width];
  }

 private:
  __device__ void askForWeights() const {
    const int64_t first = int64_t{a.hidden()} * a.headDim() * kBytes, other = int64_t{a.hidden()} * a.hidden() * kBytes;
    const uint8_t* const w[] = {static_cast<const uint8_t*>(a.w[0].data) + m_gate * first,
                                static_cast<const uint8_t*>(a.w[1].data) + m_gate * other,
                                static_cast<const uint8_t*>(a.w[2].data) + m_gate * other};
#pragma unroll
    for (int i = 0; i < 3; ++i)
      for (int64_t at = int64_t{m_thread} * 128; at < (i == 0 ? first : other); at += int64_t{m_threads} * 128)
        askFor(w[i] + at);
  }

  __device__ void bringX() {
    const int64_t layer = m_gate / a.kvHeads, head = m_gate - layer * a.kvHeads;
    const int padded = (a.headDim() + 15) / 16 * 16;
    for (int i = 0; i < kRows; ++i) {
      const float* x = a.x + layer * a.xLayerStride + min(m_row + i, a.n - 1) * a.xStride +
          head * a.headDim();  // rows behind the last are not stored
      for (int k = m_thread; k < padded; k += m_threads) m_from[i * m_width + k] = k < a.headDim() ? x[k] : 0.0f;
    }
    __syncthreads();
  }

  /// Eight values of a row of weights, from value `k` on.
  __device__ __forceinline__ void weights(const uint8_t* row, int k, int in, float (&to)[kLanesOfThread]) const {
    if constexpr (!kAligned) {
#pragma unroll
      for (int i = 0; i < kLanesOfThread; ++i) to[i] = k + i < in ? valueOf<T>(row, k + i) : 0.0f;
    } else {
#pragma unroll
      for (int c = 0; c < kLanesOfThread * kBytes / 16; ++c) {
        const uint4 chunk = *reinterpret_cast<const uint4*>(row + k * kBytes + c * 16);
        const uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if constexpr (T == DType::f32) {
            to[c * 4 + i] = std::bit_cast<float>(words[i]);
          } else {
            to[2 * i] = narrowValue<T>(words[i] & 0xffffu);
            to[2 * i + 1] = narrowValue<T>(words[i] >> 16);
          }
        }
      }
    }
  }

  /// All outputs of a stage; every thread of a warp takes part to the end.
  __device__ void products(int stage, const uint8_t* w, const float* b) {
    const int in = stage == 0 ? a.headDim() : a.hidden(), out = stage == kGateStages - 1 ? 1 : a.hidden();
    const int half = m_thread % 2, steps = (in + 15) / 16;
    w += m_gate * out * in * kBytes;
    b += m_gate * out;
    for (int first = 0; first < out; first += m_threads / 2) {
      const int o = first + m_thread / 2;
      const uint8_t* row = w + int64_t{min(o, out - 1)} * in * kBytes;
      float lanes[kRows][kLanesOfThread] = {};
#pragma unroll kUnroll
      for (int s = 0; s < steps; ++s) {
        float ws[kLanesOfThread];
        weights(row, s * 16 + half * kLanesOfThread, in, ws);
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          const auto* x = reinterpret_cast<const float4*>(m_from + i * m_width + s * 16 + half * kLanesOfThread);
          const float4 low = x[0], high = x[1];
          const float xs[kLanesOfThread] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
          for (int j = 0; j < kLanesOfThread; ++j) lanes[i][j] = fmaf(xs[j], ws[j], lanes[i][j]);
        }
      }
      const float bias = b[min(o, out - 1)];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float y = tree(lanes[i]) + bias;
        if (o < out && half == i % 2) m_to[i * m_width + o] = stage < kGateStages - 1 && y < 0.0f ? 0.0f : y;
      }
    }
    for (int i = 0; i < kRows; ++i)
      for (int k = out + m_thread; k < (out + 15) / 16 * 16; k += m_threads) m_to[i * m_width + k] = 0.0f;
  }

  /// numerics.h: lanes 8 apart lie in neighbouring threads, the others in this one.
  __device__ __forceinline__ static float tree(const float (&lanes)[kLanesOfThread]) {
    float sums[kLanesOfThread];
#pragma unroll
    for (int j = 0; j < kLanesOfThread; ++j) sums[j] = lanes[j] + __shfl_xor_sync(kWholeWarp, lanes[j], 1);
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[j] = sums[j] + sums[j + 4];
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
  }

  const GateMlpArgs& a;
  const int m_width, m_thread, m_threads;
  const int64_t m_gate, m_row;
  float *m_from, *m_to;  ///< [kRows, width]
};

/// Instances for weights beside borders of 16 bytes, which are rare, take a multiprocessor for themselves if need be:
/// with half of its registers they spill on sm_120.
template <DType T, int kRows, bool kAligned>
__global__ void __launch_bounds__(kMaxThreads, kAligned ? 0 : 1) gateKernel(GateMlpArgs a, int width) {
  GateRows<T, kRows, kAligned>(a, width).run();
}

/// Steps of 16 whole values, rows from borders of 16 bytes.
bool aligned(const GateMlpArgs& a) {
  bool all = a.headDim() % 16 == 0 && a.hidden() % 16 == 0;
  for (const Weight& w : a.w) all = all && startsAt16(w.data, 0);
  return all;
}

template <DType T>
int32_t start(void* stream, const GateMlpArgs& a) {
  const int width = (std::max(a.headDim(), a.hidden()) + 15) / 16 * 16;
  const int threads = std::clamp((2 * a.hidden() + 31) / 32 * 32, 64, kMaxThreads);
  const bool one = a.n == 1 && aligned(a);
  const int rows = one ? 1 : kManyRows;
  const auto kernel = one ? &gateKernel<T, 1, true>
      : aligned(a)        ? &gateKernel<T, kManyRows, true>
                          : &gateKernel<T, kManyRows, false>;
  return launch(kernel, {(a.n + rows - 1) / rows, a.gates()}, static_cast<unsigned>(threads), 2ll * rows * width * 4,
                stream, a, width);
}

}  // namespace

int32_t gateMlp(void* stream, const GateMlpArgs& args) {
  const GateMlpArgs a = withStrides(args);
  if (a.n <= 0 || a.gates() <= 0) return 0;
  switch (a.w[0].type) {
    case DType::f16: return start<DType::f16>(stream, a);
    case DType::bf16: return start<DType::bf16>(stream, a);
    default: return start<DType::f32>(stream, a);
  }
}

}  // namespace kvlab::kernels::cuda
