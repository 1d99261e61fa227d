// SPDX-License-Identifier: Apache-2.0
// The emulated device finds what it is there to find: barriers that some threads miss, races, copies that
// nothing waits for, host code that touches device memory.
#include <QtTest>

#if defined(KVLAB_SIMT)
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include "kernels/cuda/async_copy.h"
#include "kernels/cuda/launch.h"

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

__global__ void addOne(int* x) { atomicAdd(x, 1); }

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
  void init() { order(0); }

  void missedBarriersAreReported() {
    for (const int seed : {0, 1, 2}) {
      order(seed);
      QCOMPARE(launch(leaveBeforeTheBarrier, 1, 64, 0, nullptr, 64), 0);
      QCOMPARE(launch(leaveBeforeTheBarrier, 1, 64, 0, nullptr, 0), 0);
      QCOMPARE(launch(leaveBeforeTheBarrier, {5, 1}, 64, 0, nullptr, 40), int{cudaErrorLaunchFailure});
      const QRegularExpression pattern(R"(^simt_test.cpp:\d+ \(.*missedBarriersAreReported.*\), block \d, 0, 0: thread 0, 0, 0 waits at the barrier of simt_test.cpp:\d+, thread 40, 0, 0 has ended$)");
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
    want[2] = 3;  // what lies behind the valid bytes is 0
    auto* in = device<uint4>(16);
    auto* out = device<unsigned>(16);
    QCOMPARE(cudaMemcpy(in, x.data(), 256, cudaMemcpyHostToDevice), cudaSuccess);
    QCOMPARE(launch(stage<true>, 1, 16, 256, nullptr, in, out), 0);
    QCOMPARE(read(out, 16), want);
    QCOMPARE(launch(stage<false>, 1, 16, 256, nullptr, in, out), 0);
    QVERIFY(read(out, 16) != want);
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
    QCOMPARE(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    void* at = nullptr;
    QCOMPARE(cudaMalloc(&at, 4), cudaErrorStreamCaptureUnsupported);
    QCOMPARE(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    QCOMPARE(cudaGraphInstantiate(&exec, graph), cudaSuccess);
    QCOMPARE(read(x, 1)[0], 0);
    for (int i = 0; i < 2; ++i) QCOMPARE(cudaGraphLaunch(exec, stream), cudaSuccess);
    QCOMPARE(read(x, 1)[0], 2 * 3 * 32);
    QCOMPARE(cudaGraphExecDestroy(exec), cudaSuccess);
    QCOMPARE(cudaGraphDestroy(graph), cudaSuccess);
    QCOMPARE(cudaStreamDestroy(stream), cudaSuccess);
    cudaGetLastError();
  }

  void launchesAreChecked() {
    QCOMPARE(launch(twoBarriers, 0, 32, 0, nullptr), 0);
    QCOMPARE(launch(twoBarriers, 1, 2048, 0, nullptr), int{cudaErrorInvalidConfiguration});
    QCOMPARE(launch(twoBarriers, {1, 70000}, 32, 0, nullptr), int{cudaErrorInvalidConfiguration});
    QCOMPARE(launch(twoBarriers, 1, 32, 300 * 1024, nullptr), int{cudaErrorInvalidValue});
    cudaGetLastError();
  }
#endif
};

QTEST_GUILESS_MAIN(SimtTest)
#include "simt_test.moc"
