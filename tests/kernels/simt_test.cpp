// SPDX-License-Identifier: Apache-2.0
// The emulated device finds the faults that it exists for: barriers that some threads miss, races, copies that
// nothing waits for, host code that touches device memory, addresses that are not aligned, calls that a capture
// forbids.

#include "support/runner.h"

#if defined(KVLAB_SIMT)
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <thread>

#include "kernel_table.h"
#include "kernels/cuda/attention/attention_math.h"
#include "kernels/cuda/runtime/async_copy.h"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/mma.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::cuda;

namespace {

__global__ void leaveBeforeTheBarrier(int from) {
  if (static_cast<int>(threadIdx.x) >= from) return;
  __syncthreads();
}

__global__ void twoBarriers() {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void shuffleOfHalf() {
  if (threadIdx.x < 16) __shfl_xor_sync(0xffffffffu, 1, 1);
}

__global__ void readsAnUnnamedLane(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffffu, 1, 20);
}

/// Sum of a block; right with its barrier, luck without.
template <bool kWithBarrier>
__global__ void sum(const int* x, int* out) {
  __shared__ int part[64];
  part[threadIdx.x] = x[threadIdx.x];
  for (unsigned step = 32; step > 0; step /= 2) {
    if (kWithBarrier || step == 32) __syncthreads();
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
  }
  if (threadIdx.x == 0) *out = part[0];
}

__global__ void warps(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  int total = lane;
  for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffffu, total, step);
  if (lane < 8) total += __shfl_down_sync(0xffu, lane, 2, 4);
  out[lane] = total + 1000 * __popc(__ballot_sync(0xffffffffu, lane % 3 == 0)) + 100000 * __syncthreads_count(lane < 5);
}

template <bool kWait>
__global__ void stage(const uint4* from, unsigned* out) {
  auto* shared = dynamicShared<uint4>();
  copyAsync16(shared + threadIdx.x, from + threadIdx.x, threadIdx.x == 3 ? 4 : 16);
  commitCopies();
  if (kWait) waitCopies<0>();
  __syncthreads();
  const uint4 v = shared[threadIdx.x ^ 1];
  out[threadIdx.x] = v.x + v.w;
}

/// One warp: a [16, 16] in words as mma.h lays them out, b as [16, 8] rows or as [8, 16] columns.
template <DType T, bool Transposed>
__global__ void product(const uint32_t* a, const uint16_t* b, float* c) {
  const unsigned lane = threadIdx.x, row = lane % 16, g = lane / 4, t = lane % 4;
  auto* shared = dynamicShared<uint16_t>();
  for (unsigned i = lane; i < 128; i += 32) shared[i] = b[i];
  __syncthreads();
  const uint32_t words[4] = {a[8 * g + t], a[8 * (g + 8) + t], a[8 * g + t + 4], a[8 * (g + 8) + t + 4]};
  uint32_t parts[4];
  loadMatrices<Transposed>(
      parts, shared + (Transposed ? 8 * row : 16 * (row % 8) + 8 * (row / 8)));  // lanes from 16 on name the same
  float sums[4] = {1, 2, 3, 4};
  addProduct<T>(sums, words, parts[0], parts[1]);
  for (unsigned i = 0; i < 4; ++i)
    c[8 * (g + i / 2 * 8) + 2 * t + i % 2] = sums[i] + (parts[i % 2] == parts[i % 2 + 2] ? 0.0f : NAN);
}

__global__ void addOne(int* x) { atomicAdd(x, 1); }

[[maybe_unused]] __global__ void loads(const float4* from, float* out) { out[threadIdx.x] = from[threadIdx.x].y; }
[[maybe_unused]] __global__ void storesWords(uint8_t* to) { *reinterpret_cast<uint64_t*>(to + 8 * threadIdx.x) = 1; }
__global__ void readsWords(const uint8_t* from, float* out) { out[threadIdx.x] = wordAt<float>(from); }
__global__ void copies(const uint8_t* from, uint32_t valid) {
  copyAsync16(dynamicShared<uint4>() + threadIdx.x, from + 16 * threadIdx.x, valid);
  waitCopies<0>();
}

/// A stream that records.
struct Recording {
  cudaStream_t stream = nullptr;

  explicit Recording(cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed,
                     unsigned flags = cudaStreamNonBlocking) {
    cudaStreamCreateWithFlags(&stream, flags);
    begin(mode);
  }
  ~Recording() {
    end();
    cudaStreamDestroy(stream);
    cudaGetLastError();
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void begin(cudaStreamCaptureMode mode) {
    if (cudaStreamBeginCapture(stream, mode) != cudaSuccess) qFatal("no recording");
  }
  /// The result, and that there is a graph only without an error.
  cudaError_t end() {
    cudaGraph_t graph = nullptr;
    const cudaError_t e = cudaStreamEndCapture(stream, &graph);
    if ((e == cudaSuccess) != (graph != nullptr)) qFatal("a graph of a lost recording");
    if (graph) cudaGraphDestroy(graph);
    return e;
  }
};

template <class T>
T* device(size_t count) {
  T* at = nullptr;
  if (cudaMalloc(&at, count * sizeof(T)) != cudaSuccess) qFatal("no memory");
  return at;
}

template <class T>
std::vector<T> read(const T* from, size_t count) {
  std::vector<T> to(count);
  if (cudaMemcpy(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost) != cudaSuccess) qFatal("no copy");
  return to;
}

void order(int seed) { qputenv("KVLAB_SIMT_SEED", QByteArray::number(seed)); }
QString said() { return cudaGetErrorString(cudaErrorLaunchFailure); }

}  // namespace
#endif

class SimtTest : public QObject {
  Q_OBJECT

#if defined(KVLAB_SIMT)
 private Q_SLOTS:
  void initTestCase() {
    for (const char* name : {"leaveBeforeTheBarrier", "twoBarriers", "shuffleOfHalf", "readsAnUnnamedLane", "warps",
                             "stage", "product", "addOne", "loads", "storesWords", "readsWords", "copies"})
      kvlab::simt::declareKernel(name, 32, 0);
    kvlab::simt::declareKernel("sum", 32, 256);
  }
  void init() { order(0); }
  void cleanup() { cudaGetLastError(); }

  void missedBarriersAreReported() {
    for (const int seed : {0, 1, 2}) {
      order(seed);
      QCOMPARE(launch(leaveBeforeTheBarrier, 1, 64, 0, nullptr, 64), 0);
      QCOMPARE(launch(leaveBeforeTheBarrier, 1, 64, 0, nullptr, 0), 0);
      QCOMPARE(launch(leaveBeforeTheBarrier, {5, 1}, 64, 0, nullptr, 40), int{cudaErrorLaunchFailure});
      const QRegularExpression pattern(
          R"(^simt_test.cpp:\d+ \(.*missedBarriersAreReported.*\), block \d, 0, 0: thread 0, 0, 0 waits at the barrier of simt_test.cpp:\d+, thread 40, 0, 0 has ended$)");
      QVERIFY2(pattern.match(said()).hasMatch(), qPrintable(said()));
      QCOMPARE(launch(twoBarriers, 1, 32, 0, nullptr), int{cudaErrorLaunchFailure});
      QVERIFY2(said().contains("others wait at line"), qPrintable(said()));
    }
  }

  void missingLanesAreReported() {
    QCOMPARE(launch(shuffleOfHalf, 1, 32, 0, nullptr), int{cudaErrorLaunchFailure});
    QVERIFY2(said().contains("thread 0, 0, 0 waits at the warp operation of simt_test.cpp"), qPrintable(said()));
    QCOMPARE(launch(readsAnUnnamedLane, 1, 32, 0, nullptr, device<int>(16)), int{cudaErrorLaunchFailure});
    QVERIFY2(said().contains("to read lane 20"), qPrintable(said()));
    QCOMPARE(int{cudaGetLastError()}, int{cudaErrorLaunchFailure});
    QCOMPARE(int{cudaGetLastError()}, 0);
  }

  void aMissingBarrierChangesTheResult() {
    std::vector<int> x(64);
    for (int i = 0; i < 64; ++i) x[static_cast<size_t>(i)] = 1 << (i % 20);
    int* in = device<int>(64);
    int* out = device<int>(1);
    QCOMPARE(cudaMemcpy(in, x.data(), 256, cudaMemcpyHostToDevice), cudaSuccess);
    std::set<int> right, luck;
    for (int seed = 0; seed < 20; ++seed) {
      order(seed);
      QCOMPARE(launch(sum<true>, 1, 64, 0, nullptr, in, out), 0);
      right.insert(read(out, 1)[0]);
      QCOMPARE(launch(sum<false>, 1, 64, 0, nullptr, in, out), 0);
      luck.insert(read(out, 1)[0]);
    }
    QCOMPARE(right.size(), size_t{1});
    QCOMPARE(*right.begin(), std::accumulate(x.begin(), x.end(), 0));
    QVERIFY(luck.size() > 1);
  }

  void warpOperationsAreExact() {
    int* out = device<int>(32);
    for (const int seed : {0, 7}) {
      order(seed);
      QCOMPARE(launch(warps, 1, 32, 0, nullptr, out), 0);
      const std::vector<int> got = read(out, 32);
      for (int i = 0; i < 32; ++i) {
        const int more = i < 8 ? (i % 4 < 2 ? i + 2 : i) : 0;
        QCOMPARE(got[static_cast<size_t>(i)], 496 + more + 11000 + 500000);
      }
    }
  }

  void copiesArriveWithTheWait() {
    std::vector<unsigned> x(16 * 4, 3), want(16, 6);
    want[2] = 3;  // bytes behind the valid ones are 0
    auto* in = device<uint4>(16);
    auto* out = device<unsigned>(16);
    QCOMPARE(cudaMemcpy(in, x.data(), 256, cudaMemcpyHostToDevice), cudaSuccess);
    QCOMPARE(launch(stage<true>, 1, 16, 256, nullptr, in, out), 0);
    QCOMPARE(read(out, 16), want);
    QCOMPARE(launch(stage<false>, 1, 16, 256, nullptr, in, out), 0);
    QVERIFY(read(out, 16) != want);
  }

  /// Small integers: sums are exact in any order.
  void productsOfTensorCores() {
    checkProduct<DType::f16>(floatToHalf);
    checkProduct<DType::bf16>(floatToBf16);
    QCOMPARE(roundedPair<DType::bf16>(1.0f, -2.0f), 0xc0003f80u);
    QCOMPARE(roundedPair<DType::f16>(1.0f, 0x1p-26f), 0x00003c00u);
    QCOMPARE(powerOfTwo(-INFINITY), 0.0f);
  }

  void theHostCannotTouchTheDevice() {
    int* at = device<int>(4);
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL);
      close(2);
      *static_cast<volatile int*>(at) = 1;
      _exit(0);
    }
    int status = 0;
    QCOMPARE(waitpid(child, &status, 0), child);
    QVERIFY(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    int here = 0;
    QCOMPARE(cudaMemcpy(at, at, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    QCOMPARE(cudaMemcpy(at, &here, 20, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    QCOMPARE(cudaMemcpy(&here, &here, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    QCOMPARE(cudaFree(&here), cudaErrorInvalidValue);
    QCOMPARE(cudaFree(at), cudaSuccess);
  }

  void memoryEnds() {
    size_t before = 0, after = 0, all = 0;
    cudaMemGetInfo(&before, &all);
    void* at = nullptr;
    QCOMPARE(cudaMalloc(&at, all + 1), cudaErrorMemoryAllocation);
    QCOMPARE(cudaMalloc(&at, 1000), cudaSuccess);
    cudaMemGetInfo(&after, &all);
    QCOMPARE(before - after, size_t{1024});
    QCOMPARE(cudaFree(at), cudaSuccess);
    cudaGetLastError();
  }

  void graphsReplay() {
    int* x = device<int>(1);
    QCOMPARE(cudaMemset(x, 0, 4), cudaSuccess);
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    QCOMPARE(cudaStreamCreate(&stream), cudaSuccess);
    QCOMPARE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    QCOMPARE(launch(addOne, 3, 32, 0, stream, x), 0);
    QCOMPARE(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    QCOMPARE(cudaGraphInstantiate(&exec, graph), cudaSuccess);
    QCOMPARE(read(x, 1)[0], 0);
    for (int i = 0; i < 2; ++i) QCOMPARE(cudaGraphLaunch(exec, stream), cudaSuccess);
    QCOMPARE(read(x, 1)[0], 2 * 3 * 32);
    QCOMPARE(cudaGraphExecDestroy(exec), cudaSuccess);
    QCOMPARE(cudaGraphDestroy(graph), cudaSuccess);
    QCOMPARE(cudaStreamDestroy(stream), cudaSuccess);
  }

  /// A call that a capture forbids costs it its graph; the stream is free again behind the end.
  void brokenRulesOfACaptureLoseIt() {
    int* x = device<int>(1);
    cudaEvent_t event = nullptr;
    QCOMPARE(cudaEventCreate(&event), cudaSuccess);
    float milliseconds = 0;
    const std::vector<std::pair<std::function<cudaError_t(cudaStream_t)>, cudaError_t>> calls = {
        {[](cudaStream_t s) { return cudaStreamSynchronize(s); }, cudaErrorStreamCaptureUnsupported},
        {[](cudaStream_t s) { return cudaStreamQuery(s); }, cudaErrorStreamCaptureUnsupported},
        {[](cudaStream_t) { return cudaDeviceSynchronize(); }, cudaErrorStreamCaptureUnsupported},
        {[](cudaStream_t s) { return cudaStreamDestroy(s); }, cudaErrorStreamCaptureUnsupported},
        {[](cudaStream_t s) { return cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed); },
         cudaErrorStreamCaptureUnsupported},
        {[&](cudaStream_t s) { return cudaEventRecord(event, s), cudaEventQuery(event); }, cudaErrorCapturedEvent},
        {[&](cudaStream_t s) { return cudaEventRecord(event, s), cudaEventSynchronize(event); },
         cudaErrorCapturedEvent},
        {[&](cudaStream_t s) { return cudaEventRecord(event, s), cudaEventElapsedTime(&milliseconds, event, event); },
         cudaErrorCapturedEvent},
        {[&](cudaStream_t s) { return cudaEventRecord(event), cudaStreamWaitEvent(s, event); },
         cudaErrorStreamCaptureIsolation}};
    for (size_t i = 0; i < calls.size(); ++i) {
      Recording r;
      QCOMPARE(launch(addOne, 1, 32, 0, r.stream, x), 0);
      QVERIFY2(calls[i].first(r.stream) == calls[i].second, qPrintable(QString::number(i)));
      QCOMPARE(launch(addOne, 1, 32, 0, r.stream, x), int{cudaErrorStreamCaptureInvalidated});
      cudaStreamCaptureStatus status{};
      QCOMPARE(cudaStreamIsCapturing(r.stream, &status), cudaSuccess);
      QCOMPARE(status, cudaStreamCaptureStatusInvalidated);
      QCOMPARE(r.end(), cudaErrorStreamCaptureInvalidated);
      QCOMPARE(launch(addOne, 1, 32, 0, r.stream, x), 0);
      QCOMPARE(cudaStreamSynchronize(r.stream), cudaSuccess);
      r.begin(cudaStreamCaptureModeRelaxed);
      QCOMPARE(r.end(), cudaSuccess);
    }
    QCOMPARE(cudaEventDestroy(event), cudaSuccess);
  }

  /// Calls that no stream orders, as an allocation, are a matter of the mode; the default stream is one of the
  /// stream's.
  void captureModesForbidDifferentCalls() {
    int* x = device<int>(1);
    int here = 0;
    const auto allocates = [] {
      void* at = nullptr;
      const cudaError_t e = cudaMalloc(&at, 4);
      return e == cudaSuccess ? cudaFree(at) : e;
    };
    const auto elsewhere = [&] {
      cudaError_t e = cudaSuccess;
      std::thread([&] { e = allocates(); }).join();
      return e;
    };
    {
      Recording r;
      QCOMPARE(allocates(), cudaSuccess);
      QCOMPARE(cudaMemcpy(&here, x, 4, cudaMemcpyDeviceToHost), cudaSuccess);
      QCOMPARE(cudaMemset(x, 0, 4), cudaSuccess);
      QCOMPARE(launch(addOne, 1, 32, 0, nullptr, x), 0);
      QCOMPARE(r.end(), cudaSuccess);
    }
    {
      Recording r(cudaStreamCaptureModeThreadLocal);
      QCOMPARE(elsewhere(), cudaSuccess);
      QCOMPARE(allocates(), cudaErrorStreamCaptureUnsupported);
      QCOMPARE(r.end(), cudaErrorStreamCaptureInvalidated);
    }
    {
      Recording r(cudaStreamCaptureModeGlobal);
      QCOMPARE(elsewhere(), cudaErrorStreamCaptureUnsupported);
      QCOMPARE(cudaMemcpy(&here, x, 4, cudaMemcpyDeviceToHost), cudaErrorStreamCaptureUnsupported);
      QCOMPARE(r.end(), cudaErrorStreamCaptureInvalidated);
    }
    {
      Recording r(cudaStreamCaptureModeRelaxed, cudaStreamDefault);
      QCOMPARE(launch(addOne, 1, 32, 0, nullptr, x), int{cudaErrorStreamCaptureImplicit});
      QCOMPARE(r.end(), cudaErrorStreamCaptureInvalidated);
    }
    {
      Recording r(cudaStreamCaptureModeThreadLocal);
      cudaError_t e = cudaSuccess;
      std::thread([&] { e = r.end(); }).join();
      QCOMPARE(e, cudaErrorStreamCaptureWrongThread);
    }
  }

  void streamsOfACaptureComeTogether() {
    int* x = device<int>(1);
    cudaEvent_t fork = nullptr, join = nullptr;
    cudaEventCreate(&fork), cudaEventCreate(&join);
    cudaStream_t other = nullptr;
    QCOMPARE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
    for (const bool joined : {true, false}) {
      Recording r;
      QCOMPARE(cudaEventRecord(fork, r.stream), cudaSuccess);
      QCOMPARE(cudaStreamWaitEvent(other, fork), cudaSuccess);
      QCOMPARE(launch(addOne, 1, 32, 0, other, x), 0);
      QCOMPARE(cudaEventRecord(join, other), cudaSuccess);
      if (!joined) QCOMPARE(launch(addOne, 1, 32, 0, other, x), 0);
      QCOMPARE(cudaStreamWaitEvent(r.stream, join), cudaSuccess);
      QCOMPARE(r.end(), joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
      QCOMPARE(cudaStreamSynchronize(other), cudaSuccess);
    }
    {
      Recording r;
      QCOMPARE(cudaEventRecord(fork, r.stream), cudaSuccess);
      QCOMPARE(cudaStreamWaitEvent(other, fork), cudaSuccess);
      cudaGraph_t none = nullptr;
      QCOMPARE(cudaStreamEndCapture(other, &none), cudaErrorStreamCaptureUnmatched);
    }
    {
      Recording r, s;
      QCOMPARE(cudaEventRecord(fork, r.stream), cudaSuccess);
      QCOMPARE(cudaStreamWaitEvent(s.stream, fork), cudaErrorStreamCaptureMerge);
      QCOMPARE(r.end(), cudaErrorStreamCaptureInvalidated);
      QCOMPARE(s.end(), cudaErrorStreamCaptureInvalidated);
    }
    QCOMPARE(cudaStreamDestroy(other), cudaSuccess);
    cudaEventDestroy(fork), cudaEventDestroy(join);
  }

  void misalignedAddressesAreReported() {
    auto* bytes = device<uint8_t>(4096);
    auto* out = device<float>(32);
    const auto refused = [](int error, const char* where) {
      QCOMPARE(error, int{cudaErrorMisalignedAddress});
      const QRegularExpression pattern(
          QString(R"(^simt_test.cpp:\d+ \(.*misaligned.*\), block \d, 0, 0: thread \d+, 0, 0: misaligned address, %1)")
              .arg(where));
      QVERIFY2(pattern.match(said()).hasMatch(), qPrintable(said()));
    };
    for (const int seed : {0, 1}) {
      order(seed);
      QCOMPARE(launch(copies, 2, 32, 512, nullptr, bytes + 16, 4u), 0);
      refused(launch(copies, 2, 32, 512, nullptr, bytes + 8, 4u), "8 bytes behind a border of 16, async_copy.h:");
      refused(launch(copies, 2, 32, 512, nullptr, bytes + 4, 0u), "4 bytes behind a border of 16, async_copy.h:");
      QCOMPARE(launch(readsWords, 1, 32, 0, nullptr, bytes + 4, out), 0);
      refused(launch(readsWords, 1, 32, 0, nullptr, bytes + 6, out), "2 bytes behind a border of 4, attention_math.h:");
#if defined(KVLAB_SIMT_ALIGNMENT)
      QCOMPARE(launch(loads, 2, 32, 0, nullptr, reinterpret_cast<const float4*>(bytes), out), 0);
      refused(launch(loads, 2, 32, 0, nullptr, reinterpret_cast<const float4*>(bytes + 8), out),
              "8 bytes behind a border of 16, simt_test.cpp:");
      refused(launch(storesWords, 1, 32, 0, nullptr, bytes + 4), "4 bytes behind a border of 8, simt_test.cpp:");
#endif
    }
    QCOMPARE(launch(addOne, 1, 32, 0, nullptr, device<int>(1)), 0);  // the device goes on
  }

  /// A launch would have to ask for less than the limit by as much as the kernel has static memory.
  void sharedMemoryIsOfOneKind() {
    int* x = device<int>(64);
    QCOMPARE(launch(sum<true>, 1, 64, 16, nullptr, x, x), int{cudaErrorLaunchFailure});
    QVERIFY2(said().contains("static shared memory beside 16 dynamic bytes, simt_test.cpp:"), qPrintable(said()));
  }

 private:
  template <DType T>
  static void checkProduct(uint16_t (*narrow)(float)) {
    const auto valueA = [](int i, int k) { return static_cast<float>((i * 7 + k * 5) % 23 - 11); };
    const auto valueB = [](int k, int j) { return static_cast<float>((k * 3 + j * 11) % 19 - 9); };
    std::vector<uint16_t> a, rows, columns;
    for (int i = 0; i < 16; ++i)
      for (int k = 0; k < 16; ++k) a.push_back(narrow(valueA(i, k)));
    for (int i = 0; i < 128; ++i)
      rows.push_back(narrow(valueB(i / 8, i % 8))), columns.push_back(narrow(valueB(i % 16, i / 16)));
    for (const int seed : {0, 3}) {
      order(seed);
      for (const bool transposed : {false, true}) {
        auto* left = device<uint16_t>(256);
        auto* right = device<uint16_t>(128);
        auto* out = device<float>(128);
        QCOMPARE(cudaMemcpy(left, a.data(), 512, cudaMemcpyHostToDevice), cudaSuccess);
        QCOMPARE(cudaMemcpy(right, (transposed ? rows : columns).data(), 256, cudaMemcpyHostToDevice), cudaSuccess);
        QCOMPARE(launch(transposed ? product<T, true> : product<T, false>, 1, 32, 256, nullptr,
                        reinterpret_cast<const uint32_t*>(left), right, out),
                 0);
        const std::vector<float> got = read(out, 128);
        for (int i = 0; i < 16; ++i)
          for (int j = 0; j < 8; ++j) {
            float want = static_cast<float>(1 + j % 2 + i / 8 * 2);
            for (int k = 0; k < 16; ++k) want += valueA(i, k) * valueB(k, j);
            QCOMPARE(got[static_cast<size_t>(8 * i + j)], want);
          }
      }
    }
  }
#endif
};

KV_TEST(SimtTest)
#include "simt_test.moc"
