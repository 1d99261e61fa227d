// SPDX-License-Identifier: Apache-2.0
// "cuda-fast" on the emulated device, with a double of cuBLASLt: the calls that go through it, their arguments, the
// distance of results from the exact mode, and the messages if it is missing or fails.
#include <dlfcn.h>

#include "cuda_op_cases.h"

#include "support/runner.h"

#if !defined(KVLAB_CUBLAS_DOUBLE_FILE)
#define KVLAB_CUBLAS_DOUBLE_FILE ""
#endif
#if !defined(KVLAB_CUBLASLT_FILE)
#define KVLAB_CUBLASLT_FILE ""
#endif

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

namespace {

/// A product in f64 from rounded inputs, and sum |x w| of it.
struct Product {
  std::vector<double> y, magnitude;
};

Product product(const std::vector<float>& x, const LinearCase& c, size_t i, bool rounded) {
  const std::vector<uint8_t> bits = encode(Random(52 + i).values(c.n[i] * c.k), c.type);
  const auto value = [&](const uint8_t* at) {
    uint16_t word;
    memcpy(&word, at, 2);
    return double{c.type == DType::f16 ? halfToFloat(word) : bf16ToFloat(word)};
  };
  const auto input = [&](float v) {
    if (!rounded) return double{v};
    return double{c.type == DType::f16 ? halfToFloat(floatToHalf(v)) : bf16ToFloat(floatToBf16(v))};
  };
  const std::vector<float> bias = Random(60 + i).values(c.n[i]);
  Product p;
  for (int64_t row = 0; row < c.m; ++row)
    for (int64_t n = 0; n < c.n[i]; ++n) {
      double sum = c.bias && i != 1 ? double{bias[static_cast<size_t>(n)]} : 0, size = std::abs(sum);
      for (int64_t k = 0; k < c.k; ++k) {
        const double one =
            input(x[static_cast<size_t>(row * c.k + k)]) * value(&bits[static_cast<size_t>(2 * (n * c.k + k))]);
        sum += one;
        size += std::abs(one);
      }
      p.y.push_back(sum);
      p.magnitude.push_back(size);
    }
  return p;
}

/// The input of the products, as every back end has it: f32, after the norm.
std::vector<float> inputOf(const LinearCase& c) {
  std::vector<float> x = Random(50).values(c.m * c.k);
  if (!c.norm) return x;
  const std::vector<uint8_t> weight = encode(Random(51).values(c.k), c.type);
  ThreadPool threads(1);
  rmsnorm({&threads},
          {.x = x.data(),
           .weight = weight.data(),
           .weightType = c.type,
           .weightOffset = 0.5f,
           .y = x.data(),
           .rows = c.m,
           .dim = c.k});
  return x;
}

std::vector<float> floats(const Output& output) {
  std::vector<float> values(output.bytes.size() / 4);
  memcpy(values.data(), output.bytes.data(), output.bytes.size());
  return values;
}

}  // namespace

class CudaFastTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    if (QByteArray(KVLAB_CUBLAS_DOUBLE_FILE).isEmpty()) QSKIP("no emulated device");
    m_on = testDevices({3}).front();
  }
  void init() {
    qputenv("KVLAB_CUBLASLT", KVLAB_CUBLAS_DOUBLE_FILE);
    qunsetenv("KVLAB_CUBLAS_DOUBLE");
    m_on.api->openFast(&m_fast);
    QCOMPARE(QByteArray(m_fast.why), QByteArray());
    m_before = {};
    m_before = counts();
  }
  void cleanup() {
    if (m_fast.fast) m_on.api->closeFast(m_fast.fast);
    if (m_fast.fast) QCOMPARE(counts()[0], 0);  // every descriptor was given back
    m_fast = {};
  }

  void staysWithinItsBound_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("m");
    QTest::addColumn<int>("k");
    for (const DType t : {DType::f16, DType::bf16})
      for (const int m : {9, 40})
        for (const int k : {24, 77, 512})
          QTest::addRow("%s %d x %d", dtypeName(t), m, k) << static_cast<int>(t) << m << k;
  }

  void staysWithinItsBound() {
    QFETCH(int, type);
    QFETCH(int, m);
    QFETCH(int, k);
    const auto t = static_cast<DType>(type);
    compare({t, m, k, {37, 8, 5}, true, true});
    compare({t, m, k, {19}, false, false, LinearCase::residual});
    compare({t, m, k, {19}, false, true, LinearCase::residual});
    compareGate({t, m, k, {21, 21}, true, false, LinearCase::gate});
  }

  void whatIsNotForItStaysExact_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("m");
    QTest::newRow("few rows") << static_cast<int>(DType::bf16) << 8;
    QTest::newRow("f32") << static_cast<int>(DType::f32) << 9;
  }

  void whatIsNotForItStaysExact() {
    QFETCH(int, type);
    QFETCH(int, m);
    isExact({static_cast<DType>(type), m, 72, {24, 9}, true, true});
    QCOMPARE(counts()[2], 0);
  }

  void aShapeWithoutAnAlgorithmIsExact() {
    qputenv("KVLAB_CUBLAS_DOUBLE", "none");
    isExact({DType::bf16, 12, 72, {24, 9}, true, true});
    isExact({DType::f16, 12, 72, {24}, false, false, LinearCase::residual});
    QCOMPARE(counts()[2], 0);
  }

  void aShapeIsLookedUpOnce() {
    const LinearCase c{DType::bf16, 10, 64, {16, 24}, true};
    for (int i = 0; i < 3; ++i) QCOMPARE(run(c).error, 0);
    QCOMPARE(counts()[1], 2);
    QCOMPARE(counts()[2], 6);
  }

  /// Weights of a mapped file lie anywhere.
  void alignmentsAreTold() {
    for (const size_t shift : {2u, 4u, 16u})
      QCOMPARE(run({DType::f16, 10, 64, {16}, false, false, LinearCase::nothing, shift}).error, 0);
    QCOMPARE(counts()[1], 3);
  }

  void canBeRecorded() {
    const LinearCase c{DType::bf16, 10, 64, {16}, true};
    const std::vector<Output> wanted = run(c).outputs;
    const CudaApi& api = *m_on.api;
    void *stream = nullptr, *graph = nullptr;
    int64_t nodes = 0;
    QCOMPARE(api.openStream(&stream), 0);
    Rig rig(&m_on);
    const LinearArgs args = linearArgs(rig, c);
    void* rounded = scratch(rig, c);
    QCOMPARE(api.beginCapture(stream), 0);
    QCOMPARE(api.linearFast(stream, m_fast.fast, args, rounded), 0);
    QCOMPARE(api.endCapture(stream, &graph, &nodes), 0);
    QCOMPARE(nodes, 3);  // norm, rounding, product
    QVERIFY(!difference(rig.outputs(), wanted).empty());
    QCOMPARE(api.launchGraph(stream, graph), 0);
    QCOMPARE(difference(rig.outputs(), wanted), std::string());
    api.releaseGraph(graph);
    api.closeStream(stream);
  }

  void failuresAreErrors() {
    qputenv("KVLAB_CUBLAS_DOUBLE", "matmul");
    const int32_t error = run({DType::bf16, 10, 64, {16}}).error;
    QVERIFY(error != 0);
    QCOMPARE(QByteArray(m_on.api->errorText(error)), QByteArray("cuBLASLt could not run a product"));
  }

  void saysWhyItIsNotThere() {
    const auto said = [&](const char* library, const char* what) {
      qputenv("KVLAB_CUBLASLT", library);
      qputenv("KVLAB_CUBLAS_DOUBLE", what);
      CudaFast fast;
      m_on.api->openFast(&fast);
      return fast.fast ? QByteArray("there") : QByteArray(fast.why);
    };
    QVERIFY2(said("/nowhere/libcublasLt.so", "").contains("/nowhere/libcublasLt.so: cannot open"),
             said("/nowhere/libcublasLt.so", ""));
    QVERIFY(said(KVLAB_CUDA_EMULATED_FILE, "").endsWith("does not know the emulated device"));
    QCOMPARE(said(KVLAB_CUBLAS_DOUBLE_FILE, "create"), QByteArray("cuBLASLt did not start (status 1)"));
    CudaFast found;
    m_on.api->findFast(&found);
    QCOMPARE(QByteArray(found.why), QByteArray());
    QVERIFY(!found.fast);
  }

  /// The module as it is shipped, and cuBLASLt itself: needs no device.
  void theLibraryHasEveryFunction() {
    const CudaModule module = openCudaModule({KVLAB_CUDA_FILE});
    if (QByteArray(KVLAB_CUBLASLT_FILE).isEmpty() || !module.api) QSKIP("no module or no cuBLASLt");
    qputenv("KVLAB_CUBLASLT", KVLAB_CUBLASLT_FILE);
    CudaFast found;
    module.api->findFast(&found);
    QCOMPARE(QByteArray(found.why), QByteArray());
    qputenv("KVLAB_CUBLASLT", "libm.so.6");
    module.api->findFast(&found);
    QCOMPARE(QByteArray(found.why), QByteArray("libm.so.6 has no cublasLtCreate"));
  }

 private:
  struct Run {
    int32_t error;
    std::vector<Output> outputs;
  };

  /// Live objects, heuristics, products since the double was loaded last.
  std::array<int64_t, 3> counts() const {
    void* library = dlopen(KVLAB_CUBLAS_DOUBLE_FILE, RTLD_NOW);
    const int64_t* all = reinterpret_cast<const int64_t* (*)()>(dlsym(library, "kvlab_double_counts"))();
    return {all[0], all[1] - m_before[1], all[2] - m_before[2]};
  }
  static void* scratch(Rig& rig, const LinearCase& c) {
    return rig.in(std::vector<uint16_t>(static_cast<size_t>(c.m * c.k), 0xffff));
  }

  Run run(const LinearCase& c) {
    Rig rig(&m_on);
    const LinearArgs args = linearArgs(rig, c);
    const int64_t bytes = m_on.api->fastScratchBytes(args);
    const int32_t error = m_on.api->linearFast(nullptr, m_fast.fast, args, bytes ? scratch(rig, c) : nullptr);
    return {error, rig.outputs()};
  }

  std::vector<Output> exact(const LinearCase& c) {
    Rig cpu(nullptr);
    callLinear(cpu, c);
    return cpu.outputs();
  }

  void isExact(const LinearCase& c) {
    const Run got = run(c);
    QCOMPARE(got.error, 0);
    QCOMPARE(difference(got.outputs, exact(c)), std::string());
  }

  /// Against the exact mode: the bound that fast.h states. Against rounded inputs: that of the sums alone.
  void compare(const LinearCase& c) {
    const Run got = run(c);
    QCOMPARE(got.error, 0);
    const std::vector<Output> wanted = exact(c);
    const std::vector<float> x = inputOf(c), residual = Random(70).values(c.m * c.n[0]);
    const double sums = static_cast<double>(c.k + 2) * 0x1p-23, u = c.type == DType::f16 ? 0x1p-11 : 0x1p-8;
    bool apart = false;
    for (size_t i = 0; i < c.n.size(); ++i) {
      const std::vector<float> fast = floats(got.outputs[i]), det = floats(wanted[i]);
      const Product p = product(x, c, i, true), unrounded = product(x, c, i, false);
      for (size_t at = 0; at < fast.size(); ++at) {
        const double before = c.behind == LinearCase::residual ? double{residual[at]} : 0,
                     size = unrounded.magnitude[at] + std::abs(before);
        QVERIFY(std::abs(double{fast[at]} - double{det[at]}) <= (u + sums) * size);
        QVERIFY2(std::abs(double{fast[at]} - (p.y[at] + before)) <= 1.02 * sums * size,
                 qPrintable(QString("%1 %2").arg(i).arg(at)));
        apart = apart || fast[at] != det[at];
      }
    }
    QVERIFY(apart);
  }

  /// silu's slope is below 1.1.
  void compareGate(const LinearCase& c) {
    const Run got = run(c);
    QCOMPARE(got.error, 0);
    const std::vector<float> fast = floats(got.outputs[0]), x = inputOf(c);
    const Product gate = product(x, c, 0, true), up = product(x, c, 1, true);
    const double sums = static_cast<double>(c.k + 2) * 0x1p-23;
    for (size_t at = 0; at < fast.size(); ++at) {
      const double g = gate.y[at], u = up.y[at], silu = g / (1 + std::exp(-g));
      const double bound = 1.1 * sums * gate.magnitude[at] * std::abs(u) + std::abs(silu) * sums * up.magnitude[at];
      QVERIFY(std::abs(double{fast[at]} - silu * u) <= 1.1 * bound + 1e-6 * std::abs(silu * u));
    }
  }

  TestDevice m_on;
  CudaFast m_fast;
  std::array<int64_t, 3> m_before{};
};

KV_TEST(CudaFastTest)
#include "cuda_fast_test.moc"
