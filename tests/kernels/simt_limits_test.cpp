// SPDX-License-Identifier: Apache-2.0
// The emulated device refuses what the devices of its profiles refuse: launches over a limit, and modules without code
// for it; and it answers as they do when somebody asks for limits.

#include "support/runner.h"

#if defined(KVLAB_SIMT)
#include "kernel_table.h"
#include "kernels/cuda/runtime/launch.h"
#include "launch_limits.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::cuda;
using kvlab::simt::DeviceProfile;

namespace {

__global__ void addsOne(int* x) { atomicAdd(x, 1); }
__global__ void meets() { __syncthreads(); }

/// As a kernel that takes all the shared memory there is, and forgets that it has some besides.
__global__ void besideStatic(float* out) {
  __shared__ float factors[4];
  factors[threadIdx.x % 4] = dynamicShared<float>()[threadIdx.x];
  out[threadIdx.x] = factors[0];
}

__global__ void needsRegisters() {}
__global__ void asksForMore() {}
__global__ void isNotDeclared() {}

/// Takes `shared` bytes without asking for them.
int unasked(void (*kernel)(), size_t shared) {
  return kvlab::simt::enqueue(nullptr,
                              {.grid = 1,
                               .block = 32,
                               .sharedBytes = shared,
                               .kernel = reinterpret_cast<const void*>(kernel),
                               .body = kernel,
                               .name = "unasked"});
}

int* number() {
  int* at = nullptr;
  if (cudaMalloc(&at, 4) != cudaSuccess) qFatal("no memory");
  return at;
}

}  // namespace
#endif

class SimtLimitsTest : public QObject {
  Q_OBJECT

#if defined(KVLAB_SIMT)
 private Q_SLOTS:
  void initTestCase() {
    for (const char* name : {"addsOne", "meets", "asksForMore"}) kvlab::simt::declareKernel(name, 32, 0);
    kvlab::simt::declareKernel("besideStatic", 32, 16);
    kvlab::simt::declareKernel("needsRegisters", 255, 0);
  }
  void cleanup() {
    for (const char* name : {"KVLAB_SIMT_DEVICE", "KVLAB_SIMT_IMAGES", "KVLAB_SIMT_DRY"}) qunsetenv(name);
    cudaGetLastError();
  }

  void launchesAreChecked() {
    QCOMPARE(launch(meets, 0, 32, 0, nullptr), 0);
    QCOMPARE(launch(meets, 1, 1024, 0, nullptr), 0);
    QCOMPARE(launch(meets, 1, 1025, 0, nullptr), int{cudaErrorInvalidConfiguration});
    QCOMPARE(launch(meets, {1, 65536}, 32, 0, nullptr), int{cudaErrorInvalidConfiguration});
    QCOMPARE(launch(meets, {1, 1, 65536}, 32, 0, nullptr), int{cudaErrorInvalidConfiguration});
    QCOMPARE(launch(meets, int64_t{1} << 31, 32, 0, nullptr), int{cudaErrorInvalidConfiguration});
    QCOMPARE(launch(isNotDeclared, 1, 32, 0, nullptr), int{cudaErrorInvalidDeviceFunction});
    qputenv("KVLAB_SIMT_DRY", "1");
    QCOMPARE(launch(meets, {0x7fffffff, 65535, 65535}, 32, 0, nullptr), 0);
    QCOMPARE(launch(needsRegisters, 1, 256, 0, nullptr), 0);
    QCOMPARE(launch(needsRegisters, 1, 257, 0, nullptr), int{cudaErrorLaunchOutOfResources});
    QCOMPARE(launch(addsOne, 1, 1024, 0, nullptr, static_cast<int*>(nullptr)), 0);
  }

  void sharedMemoryHasToBeAskedFor() {
    qputenv("KVLAB_SIMT_DRY", "1");
    QCOMPARE(unasked(asksForMore, 48 * 1024), 0);
    QCOMPARE(unasked(asksForMore, 48 * 1024 + 1), int{cudaErrorInvalidValue});
    QCOMPARE(cudaFuncSetAttribute(asksForMore, cudaFuncAttributeMaxDynamicSharedMemorySize, 60'000), cudaSuccess);
    QCOMPARE(unasked(asksForMore, 60'000), 0);
    QCOMPARE(unasked(asksForMore, 60'001), int{cudaErrorInvalidValue});
    QCOMPARE(cudaFuncSetAttribute(asksForMore, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000), cudaSuccess);
    QCOMPARE(unasked(asksForMore, 1001), int{cudaErrorInvalidValue});
  }

  void limitsAreThoseOfTheDevice_data() {
    QTest::addColumn<int>("most");
    const auto device = [](const char* name, int kibibytes) { QTest::addRow("%s", name) << kibibytes * 1024; };
    device("sm_75", 64), device("sm_80", 163), device("sm_86", 99), device("sm_89", 99), device("sm_90", 227);
    device("sm_100", 227), device("sm_120", 99), device("small", 227);
  }
  void limitsAreThoseOfTheDevice() {
    QFETCH(int, most);
    qputenv("KVLAB_SIMT_DEVICE", QTest::currentDataTag());
    const DeviceProfile& d = *kvlab::simt::deviceProfileOf(QTest::currentDataTag());
    DeviceShape shape;
    QCOMPARE(askForShape(&shape), cudaSuccess);
    QCOMPARE(shape.sharedLimit, most);
    QCOMPARE(shape.multiprocessors, d.multiprocessors);
    for (const auto& [attribute, want] : std::initializer_list<std::pair<cudaDeviceAttr, int>>{
             {cudaDevAttrMaxThreadsPerBlock, 1024},
             {cudaDevAttrMaxGridDimX, 0x7fffffff},
             {cudaDevAttrMaxGridDimY, 65535},
             {cudaDevAttrMaxGridDimZ, 65535},
             {cudaDevAttrMaxSharedMemoryPerBlock, 48 * 1024},
             {cudaDevAttrMaxRegistersPerBlock, 65536},
             {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
             {cudaDevAttrL2CacheSize, d.cacheKib * 1024},
             {cudaDevAttrMaxThreadsPerMultiProcessor, d.threads},
             {cudaDevAttrMaxBlocksPerMultiprocessor, d.blocks},
             {cudaDevAttrComputeCapabilityMajor, d.capability / 10},
             {cudaDevAttrComputeCapabilityMinor, d.capability % 10},
             {cudaDevAttrMaxSharedMemoryPerMultiprocessor, most + d.reservedShared()},
             {cudaDevAttrReservedSharedMemoryPerBlock, d.capability < 80 ? 0 : 1024}}) {
      int got = 0;
      QCOMPARE(cudaDeviceGetAttribute(&got, attribute, 0), cudaSuccess);
      QCOMPARE(got, want);
    }
    QCOMPARE(launch(meets, 1, 32, most, nullptr), 0);
    QCOMPARE(launch(meets, 1, 32, most + 1, nullptr), int{cudaErrorInvalidValue});
    // A plan up to the limit of a block, for a kernel that has 16 bytes besides.
    qputenv("KVLAB_SIMT_DRY", "1");
    float* none = nullptr;
    QCOMPARE(launch(besideStatic, 1, 32, most - 16, nullptr, none), 0);
    QCOMPARE(launch(besideStatic, 1, 32, most - 15, nullptr, none), int{cudaErrorInvalidValue});
    QCOMPARE(launch(besideStatic, 1, 32, most, nullptr, none), int{cudaErrorInvalidValue});
    QCOMPARE(launch(addsOne, 1, 32, most, nullptr, static_cast<int*>(nullptr)), 0);
  }

  void occupancyIsThatOfTheDevice_data() {
    QTest::addColumn<int>("registers");
    QTest::addColumn<int>("threads");
    QTest::addColumn<int>("shared");
    QTest::addColumn<int>("blocks");
    QTest::newRow("sm_90") << 32 << 256 << 0 << 8;       // warps
    QTest::newRow("sm_86") << 32 << 256 << 0 << 6;       // warps
    QTest::newRow("sm_75") << 32 << 32 << 0 << 16;       // blocks
    QTest::newRow("sm_89") << 32 << 32 << 0 << 24;       // blocks
    QTest::newRow("sm_100") << 255 << 128 << 0 << 2;     // registers
    QTest::newRow("sm_120") << 255 << 512 << 0 << 0;     // registers
    QTest::newRow("sm_80") << 32 << 64 << 40'000 << 4;   // shared memory
    QTest::newRow("small") << 32 << 64 << 116'736 << 1;  // shared memory, the system's with it
  }
  void occupancyIsThatOfTheDevice() {
    QFETCH(int, registers);
    QFETCH(int, threads);
    QFETCH(int, shared);
    QFETCH(int, blocks);
    qputenv("KVLAB_SIMT_DEVICE", QTest::currentDataTag());
    const auto kernel = registers == 255 ? needsRegisters : asksForMore;
    QCOMPARE(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared), cudaSuccess);
    int got = -1;
    QCOMPARE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&got, kernel, threads, static_cast<size_t>(shared)),
             cudaSuccess);
    QCOMPARE(got, blocks);
  }

  /// The row names the images of a module, and the device; ptx 0: there is no image for the device.
  void imagesRunWhereCudaRunsThem_data() {
    QTest::addColumn<int>("ptx");
    QTest::addColumn<int>("binary");
    QTest::newRow("90-real;75-virtual sm_75") << 75 << 75;
    QTest::newRow("90-real;75-virtual sm_80") << 75 << 80;
    QTest::newRow("90-real;75-virtual sm_90") << 90 << 90;
    QTest::newRow("90-real;75-virtual sm_120") << 75 << 120;
    for (const char* none : {"90-real sm_75", "90-real sm_80", "90-real sm_100", "90-real sm_120", "80-real sm_75",
                             "80-real sm_90", "86-real sm_80", "86 sm_80", "90-virtual sm_89"})
      QTest::newRow(none) << 0 << 0;
    for (const char* older : {"80-real sm_80", "80-real sm_86", "80-real;89-virtual sm_89"})
      QTest::newRow(older) << 80 << 80;
    QTest::newRow("86 sm_89") << 86 << 86;
    QTest::newRow("86 sm_90") << 86 << 90;
    QTest::newRow("75-real;80-virtual;90-virtual sm_120") << 90 << 120;
  }
  void imagesRunWhereCudaRunsThem() {
    QFETCH(int, ptx);
    QFETCH(int, binary);
    const QByteArrayList row = QByteArray(QTest::currentDataTag()).split(' ');
    qputenv("KVLAB_SIMT_IMAGES", row[0]);
    qputenv("KVLAB_SIMT_DEVICE", row[1]);
    const int want = binary ? int{cudaSuccess} : int{cudaErrorNoKernelImageForDevice};
    cudaFuncAttributes attributes{};
    QCOMPARE(int{cudaFuncGetAttributes(&attributes, addsOne)}, want);
    QCOMPARE(attributes.ptxVersion, ptx);
    QCOMPARE(attributes.binaryVersion, binary);
    QCOMPARE(launch(addsOne, 1, 32, 0, nullptr, number()), want);
    QCOMPARE(launch(addsOne, 1, 32, 60'000, nullptr, number()), want);
    int blocks = 0;
    QCOMPARE(int{cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, addsOne, 32, 0)}, want);
  }
#endif
};

KV_TEST(SimtLimitsTest)
#include "simt_limits_test.moc"
