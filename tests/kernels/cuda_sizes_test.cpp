// SPDX-License-Identifier: Apache-2.0
// Linear steps, products, attention and rows at the sizes of published models, every type: a real device against the
// CPU's bits. Without one the emulated device computes a small share of each call.
#include "block_bytes.h"
#include "cuda_attention_rig.h"
#include "kernels/numerics.h"
#include "row_pool_fixture.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

namespace {

constexpr DType kDenseTypes[] = {DType::f32, DType::f16, DType::bf16, DType::i8};
constexpr DType kSizedRows[] = {DType::f32, DType::f16, DType::bf16, DType::i8, DType::fp8e4m3};
constexpr int64_t kShare = 64;  // of a call, on the emulated device

/// A weight on the host and on a device.
struct PlacedWeight {
  std::vector<uint8_t> bytes;
  std::vector<float> scales;
  Weight host, device;

  PlacedWeight(Device& on, DType type, int64_t n, int64_t k) {
    if (dtypeInBlocks(type)) bytes = blocksOf(type, n * k, 11);
    else bytes = encode(Random(12).values(n * k), type);
    if (dtypeHasScale(type)) scales = Random(13).values(n);
    host = {bytes.data(), type, scales.empty() ? nullptr : scales.data(), n, k};
    device = {on.copy(bytes), type, scales.empty() ? nullptr : on.copy(scales), n, k};
  }
};

}  // namespace

class CudaSizesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    if (QByteArray(numericsId()) != "portable-fma") QSKIP("no fused multiply-add here");
    const std::vector<TestDevice> all = testDevices({0});
    if (all.empty()) QSKIP("no device");
    m_on = all.back();  // a real one stands last
    m_real = !m_on.name.starts_with("emulated");
    qInfo("%s", m_on.name.c_str());
  }

  void products_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("k");
    std::vector<DType> types(std::begin(kDenseTypes), std::end(kDenseTypes));
    types.insert(types.end(), std::begin(kBlockTypes), std::end(kBlockTypes));
    for (const DType type : types)
      for (const int k : {768, 4096, 12'288, 32'768})
        if (m_real || k == 768) QTest::addRow("%s, k %d", dtypeName(type), k) << static_cast<int>(type) << k;
  }
  void products() {
    QFETCH(int, type);
    QFETCH(int, k);
    const int64_t n = m_real ? std::min<int64_t>(16'384, (int64_t{1} << 25) / k) : 768 / kShare;
    Device on(m_on);
    const PlacedWeight w(on, static_cast<DType>(type), n, k);
    const std::vector<float> norm = Random(14).values(k);
    for (const int64_t m : {1, 2, 3, 4, 5, 8, 9, 33}) {
      if (!m_real && m != 1 && m != 9) continue;
      const std::vector<float> x = Random(15).values(m * k);
      std::vector<float> want(static_cast<size_t>(m * n)), got = want, normed(static_cast<size_t>(m * k));
      LinearArgs a{.x = x.data(), .m = m, .normWeight = norm.data(), .normed = normed.data(), .nParts = 1};
      a.parts[0] = {w.host, nullptr, want.data()};
      cpuOps().linear({&m_threads}, a);
      float* y = on.copy(got);
      a.x = on.copy(x), a.normWeight = on.copy(norm), a.normed = on.copy(normed);
      a.parts[0] = {w.device, nullptr, y};
      on.check(m_on.api->linear(nullptr, a));
      on.fetch(got, y);
      QVERIFY2(sameBits(got, want), qPrintable(QString("linear, %1 rows").arg(m)));
      cpuOps().matmul({&m_threads}, {.x = x.data(), .w = w.host, .y = want.data(), .m = m});
      on.check(m_on.api->matmul(nullptr, {.x = a.x, .w = w.device, .y = y, .m = m}));
      on.fetch(got, y);
      QVERIFY2(sameBits(got, want), qPrintable(QString("matmul, %1 rows").arg(m)));
    }
  }

  void attention_data() {
    QTest::addColumn<int>("heads");
    QTest::addColumn<int>("kvHeads");
    QTest::addColumn<int>("headDim");
    QTest::addColumn<int>("type");
    const std::tuple<const char*, int, int, int> models[] = {
        {"SmolLM2-135M", 9, 3, 64}, {"Llama-3-8B", 32, 8, 128}, {"Phi-3-mini", 32, 32, 96}, {"Gemma-3-4B", 8, 4, 256}};
    for (const auto& [name, heads, kvHeads, headDim] : models)
      for (const DType type : kSizedRows)
        if (m_real || heads == 9)
          QTest::addRow("%s, %s", name, dtypeName(type)) << heads << kvHeads << headDim << static_cast<int>(type);
  }
  void attention() {
    QFETCH(int, heads);
    QFETCH(int, kvHeads);
    QFETCH(int, headDim);
    QFETCH(int, type);
    const int64_t rows = m_real ? 8192 : 8192 / kShare;
    const Scene s({heads, kvHeads, headDim, static_cast<DType>(type)}, rows);
    Placed placed(s, m_on);
    for (const int64_t queries : {1, 8, 64}) {
      if (!m_real && queries == 64) continue;
      const QString different = placed.differs(slice(s.args(), rows - queries, rows));
      QVERIFY2(different.isEmpty(), qPrintable(different));
    }
  }

  void rows_data() {
    QTest::addColumn<int>("type");
    for (const DType type : kSizedRows) QTest::addRow("%s", dtypeName(type)) << static_cast<int>(type);
  }
  /// Written, shifted by one, rolled by a third, and verified where they stand then.
  void rows() {
    QFETCH(int, type);
    const auto n = static_cast<int32_t>(m_real ? 16'384 : 16'384 / kShare);
    const Pool p({8, 128, static_cast<DType>(type), static_cast<DType>(type)}, n);
    Device on(m_on);
    std::vector<uint8_t> want(p.bytes.size(), 0xee), got = want;
    uint8_t* pool = on.copy(got);
    on.check(m_on.api->writeRows(nullptr,
                                 {.pool = pool,
                                  .fmt = p.fmt,
                                  .k = on.copy(p.k),
                                  .v = on.copy(p.v),
                                  .tags = on.copy(p.tags),
                                  .slots = on.copy(p.slots),
                                  .n = n}));
    on.fetch(got, pool);
    QVERIFY2(got == p.bytes, "writeRows");
    const std::vector<RowMove> moves = {{0, 1, n}, {n / 3, 0, n - n / 3}, {5, n - 40, 40}};
    want = p.bytes;
    moveRows(p.context, {want.data(), want.data(), p.fmt, moves.data(), std::ssize(moves)});
    on.check(m_on.api->moveRows(nullptr, {pool, pool, p.fmt, on.copy(moves), std::ssize(moves), 2 * n}));
    on.fetch(got, pool);
    QVERIFY2(got == want, "moveRows");
    int64_t bad = -1, badThere = 0;
    std::vector<uint8_t> verdicts(static_cast<size_t>(n)), verdictsThere = verdicts;
    verifyRows(p.context, {want.data(), p.fmt, p.slots.data(), p.tags.data(), n, verdicts.data(), &bad});
    uint8_t* each = on.copy(verdictsThere);
    int64_t* sum = on.copy(&badThere, 1);
    on.check(m_on.api->verifyRows(nullptr, {pool, p.fmt, on.copy(p.slots), on.copy(p.tags), n, each, sum}));
    on.fetch(verdictsThere, each);
    std::vector<int64_t> one(1);
    on.fetch(one, sum);
    QVERIFY2(verdictsThere == verdicts && one[0] == bad, "verifyRows");
  }

 private:
  TestDevice m_on;
  bool m_real = false;
  ThreadPool m_threads{4};
};

KV_TEST(CudaSizesTest)
#include "cuda_sizes_test.moc"
