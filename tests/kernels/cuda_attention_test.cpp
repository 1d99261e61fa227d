// SPDX-License-Identifier: Apache-2.0
// Attention on a device against the CPU's, bit for bit, in every output; and the index functions that it uses.
#include <set>

#include "cuda_attention_rig.h"
#include "kernels/cuda/attention/attention_index.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::cuda;
using namespace kvlab::kernels::test;
Q_DECLARE_METATYPE(kvlab::kernels::DType)

#define QVERIFY_SAME(placed, ...)                            \
  do {                                                       \
    const QString different = (placed).differs(__VA_ARGS__); \
    QVERIFY2(different.isEmpty(), qPrintable(different));    \
  } while (false)

class CudaAttentionTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void partsTileTheRange();
  void divisionsAreExact();
  void sharedRowsMissNoBank();
  void scratchHoldsEveryArray();
  void equalsTheCpu_data();
  void equalsTheCpu();
  void rotatedKeys();
  void quantisedRowsAreReadAsTheyMean();
  void selfRows();
  void strides();
  void rangesOfEveryKind();
  void rowsMayBeMoreThanAreSeen();
  void massesAskedForOneByOne();
  void bordersFollowTheIndex();
  void whatIsNoNumberStaysInItsRow();
  void longContext();
  void batches();
  void refusesToRunWithoutScratch();

 private:
  static const std::vector<TestDevice>& devices() {
    static const std::vector<TestDevice> all = testDevices();
    return all;
  }
};

void CudaAttentionTest::partsTileTheRange() {
  for (const int skew : {0, 1, 63})
    for (int begin = -3; begin < 140; begin += 11)
      for (int end = -2; end < 140; end += 7)
        for (const bool self : {false, true}) {
          const Seen s = seenRange(begin, end, self);
          std::set<int> rows;
          int selves = 0;
          const BlockSpan span = blocksOf(s, skew);
          for (int block = span.first; block < span.end; ++block) {
            const int start = startOf(block, skew);
            const SeenPart part = partAt(s, start);
            QVERIFY(!part.empty());
            for (int at = part.lo; at < part.rowsEnd; ++at) QVERIFY(rows.insert(start + at).second);
            selves += part.hasSelf();
            if (part.hasSelf()) QCOMPARE(start + part.rowsEnd, s.end);
            QVERIFY(block >= 0 && block < (skew + std::max(140, end)) / kKeys + 1);
          }
          QCOMPARE(static_cast<int>(rows.size()), std::max(0, std::max(end, 0) - std::max(begin, 0)));
          if (!rows.empty()) QVERIFY(*rows.begin() == std::max(begin, 0) && *rows.rbegin() == end - 1);
          QCOMPARE(selves, self ? 1 : 0);
          QCOMPARE(s.empty(), rows.empty() && !self);
        }
}

void CudaAttentionTest::divisionsAreExact() {
  for (int divisor = 1; divisor <= 64; ++divisor) {
    const SmallDivisor by(divisor);
    for (int n = 0; n < 1024; ++n) QVERIFY(by.quotient(n) == n / divisor && by.rest(n) == n % divisor);
  }
}

void CudaAttentionTest::sharedRowsMissNoBank() {
  for (int d = 16; d <= 256; d += 8) {
    for (const DType t :
         {DType::f32, DType::f16, DType::i8}) {  // eight lanes a row, two values each; 128 bytes at a time
      const int64_t pitch = rowPitch(d, t), piece = 2 * dtypeBytes(t);
      QVERIFY(pitch >= d * dtypeBytes(t) && pitch % 16 == 0);
      std::set<int64_t> banks;
      for (int64_t lane = 0; lane < 128 / piece; ++lane)
        for (int64_t byte = 0; byte < piece; byte += 4)
          banks.insert((lane / 8 * pitch + lane % 8 * piece + byte) / 4 % 32);
      QCOMPARE(banks.size(), size_t{32});
      QVERIFY(rowsPerStage(d, dtypeBytes(t)) * pitch <= 6144 && kKeys % rowsPerStage(d, dtypeBytes(t)) == 0);
    }
    std::set<int> banks;  // four lanes a row, four values each; eight lanes at a time
    for (int lane = 0; lane < 8; ++lane)
      for (int i = 0; i < 4; ++i) banks.insert((lane / 4 * tilePitch(d) + lane % 4 * 4 + i) % 32);
    QVERIFY(tilePitch(d) >= d && tilePitch(d) % 4 == 0);
    QCOMPARE(banks.size(), size_t{32});
    banks.clear();  // eight rows, eight values each
    for (int i = 0; i < 32; ++i) banks.insert((i / 4 * mmaPitch((d + 15) / 16 * 16) / 2 + i % 4) % 32);
    QCOMPARE(banks.size(), size_t{32});
  }
}

void CudaAttentionTest::scratchHoldsEveryArray() {
  AttentionArgs a{
      .fmt = {8, 128, DType::bf16, DType::bf16}, .rows = 131072, .indexBase = 5, .nQueries = 1, .queryHeads = 32};
  QCOMPARE(scratchOf(a, 1, 0).all(), int64_t{32} * 2049 * (512 + 8));
  a.nQueries = 16;
  QCOMPARE(queriesPerBatch(a), int64_t{7});
  AttentionPlan p;
  p.blocks = blocksOfCall(a);
  p.stored = 3;
  const ScratchSizes sizes = scratchOf(a, 7, 4);
  QVERIFY((p.stateAt(6, 32, 31, 2048) + 1) * 128 * 4 <= sizes.values &&
          (p.stateAt(6, 32, 31, 2048) + 1) * 8 <= sizes.states);
  QVERIFY((p.keptAt(6, 32, 31, 2048) + 1) * 4 <= sizes.maxima && (p.keptAt(6, 32, 31, 2048) + 1) * 256 <= sizes.kept);
  QCOMPARE(p.keptAt(3, 32, 0, 0), int64_t{0});
  a.nQueries = 512;
  QCOMPARE(scratchOf(a, 512, 0).all(), int64_t{0});
  for (int d = 16; d <= 256; d += 8)
    for (int group = 1; group <= 71; ++group) {
      for (const int64_t units : {1, 100, 100000}) {
        const int tile = splitHeads(group, d, units, 1056), tiles = (group + tile - 1) / tile;
        QVERIFY(tile >= 1 && tile <= (d <= 128 ? 8 : 2) && tile * (tiles - 1) < group);
      }
    }
}

void CudaAttentionTest::equalsTheCpu_data() {
  QTest::addColumn<Shape>("shape");
  QTest::addColumn<DType>("v");
  const auto row = [](int heads, int kv, int d, DType k, DType v) {
    QTest::addRow("%d/%d heads of %d, %s %s", heads, kv, d, dtypeName(k), dtypeName(v)) << Shape{heads, kv, d, k} << v;
  };
  using enum DType;
  row(1, 1, 16, f32, f32);
  row(40, 1, 24, bf16, f16);
  row(3, 1, 32, f32, f16);
  row(9, 1, 40, bf16, f32);
  row(4, 2, 64, bf16, bf16);
  row(16, 2, 64, f16, f16);
  row(8, 8, 64, bf16, f16);
  row(24, 4, 128, bf16, bf16);
  row(2, 2, 80, f16, bf16);
  row(4, 2, 96, bf16, bf16);
  row(7, 1, 128, bf16, bf16);
  row(8, 2, 128, f16, f32);
  row(2, 1, 200, f16, f16);
  row(3, 1, 256, f32, bf16);
  row(1, 1, 256, f32, f32);
  row(16, 2, 64, f16, i8);
  row(4, 2, 128, i8, i8);
  row(3, 3, 24, i8, fp8e4m3);  // heads start eight bytes beside a border of 16
  QTest::addRow("a cap, f32") << Shape{4, 2, 64, f32, 0.4f} << f32;
  QTest::addRow("a cap, int8") << Shape{6, 3, 40, i8, 2.0f} << f16;
  QTest::addRow("sinks, bf16") << Shape{8, 2, 64, bf16, 0.0f, true} << bf16;
  QTest::addRow("sinks, 128") << Shape{4, 4, 128, f16, 0.0f, true} << f16;
  QTest::addRow("sinks, int8 and a cap") << Shape{6, 3, 40, i8, 2.0f, true} << f16;
  row(6, 3, 40, fp8e4m3, bf16);
  row(2, 1, 200, f32, i8);
  row(2, 2, 256, fp8e4m3, fp8e4m3);
  row(4, 2, 12, f16, i8);
  row(3, 1, 20, i8, f16);
  row(2, 2, 9, f32, fp8e4m3);
  row(6, 3, 66, bf16, bf16);
  row(2, 1, 4, fp8e4m3, f32);
  row(2, 1, 2, f16, f16);
  row(1, 1, 320, f16, i8);
  row(1, 1, 512, f32, bf16);
  QTest::addRow("a cap and sinks, heads of 84") << Shape{4, 2, 84, f16, 2.0f, true} << bf16;
}

void CudaAttentionTest::equalsTheCpu() {
  QFETCH(const Shape, shape);
  QFETCH(const DType, v);
  const Scene s = sceneOf(shape, v);
  for (const TestDevice& where : devices()) {
    Placed placed(s, where);
    for (const auto& [q0, q1] : {std::pair<int, int>{149, 150}, {70, 73}, {60, 100}})
      QVERIFY_SAME(placed, slice(s.args(), q0, q1));
  }
}

void CudaAttentionTest::rotatedKeys() {
  using enum DType;
  for (const auto& [d, k, v] : {std::tuple{48, f16, bf16}, {48, i8, fp8e4m3}, {21, fp8e4m3, f16}}) {
    Scene s = sceneOf(4, 2, d, k, v);
    s.rotated = true;
    for (const TestDevice& where : devices()) {
      Placed placed(s, where);
      QVERIFY_SAME(placed, slice(s.args(), 130, 132));
      QVERIFY_SAME(placed, slice(s.args(), 100, 140));
    }
  }
}

/// A device reads codes and scales as the f32 rows that they mean.
void CudaAttentionTest::quantisedRowsAreReadAsTheyMean() {
  for (const auto& [k, v] :
       {std::pair{DType::f16, DType::i8}, {DType::i8, DType::fp8e4m3}, {DType::fp8e4m3, DType::i8}}) {
    const Scene s = sceneOf(4, 2, 24, k, v), plain = meant(s);
    for (const TestDevice& where : devices()) {
      Placed codes(s, where), values(plain, where);
      for (const auto& [q0, q1] : {std::pair<int, int>{148, 150}, {100, 130}}) {
        const Outputs got = codes.run(slice(s.args(), q0, q1), kAllMasses),
                      want = values.run(slice(plain.args(), q0, q1), kAllMasses);
        QVERIFY(same(got.out, want.out) && same(got.newest, want.newest) && same(got.perHead, want.perHead) &&
                same(got.received, want.received) && same(got.heads, want.heads) && got.last == want.last);
      }
    }
  }
}

void CudaAttentionTest::selfRows() {
  using enum DType;
  for (const auto& [d, k, v] : {std::tuple{32, bf16, f32},
                                {72, bf16, f32},
                                {256, bf16, f32},
                                {72, i8, fp8e4m3},
                                {32, fp8e4m3, i8},
                                {12, i8, f16},
                                {21, bf16, fp8e4m3}})
    for (const bool rotated : {false, true}) {
      Scene s = sceneOf(6, 2, d, k, v);
      s.rotated = rotated;
      std::vector<int32_t> before(s.end), slots(s.slots);
      for (int32_t& e : before) --e;
      for (size_t q = 2; q < 150; q += 5) slots[q] = -1;
      AttentionArgs a = s.args();
      a.rowEnd = before.data();
      a.selfSlot = slots.data();
      a.selfPhaseIndex = s.phases.data();
      for (const TestDevice& where : devices()) {
        Placed placed(s, where);
        // 61: the self row is the first key of a block (index 1000064); 0: it is all there is.
        for (const auto& [q0, q1] : {std::pair<int, int>{61, 63}, {0, 2}, {0, 70}}) {
          AttentionArgs part = slice(a, q0, q1);
          part.selfSlot += q0;
          part.selfPhaseIndex += q0;
          QVERIFY_SAME(placed, part);
        }
      }
    }
}

void CudaAttentionTest::strides() {
  const Scene s = sceneOf(2, 1, 40, DType::f16, DType::f16);
  std::vector<float> spread(150 * 83, NAN);
  for (size_t q = 0; q < 150; ++q)
    std::copy_n(s.queries.begin() + static_cast<std::ptrdiff_t>(q * 80), 80,
                spread.begin() + static_cast<std::ptrdiff_t>(q * 83));
  AttentionArgs a = s.args();
  a.queries = spread.data();
  a.queryStride = 83;
  a.outStride = 85;
  for (const TestDevice& where : devices()) {
    Placed placed(s, where);
    for (const int64_t n : {3, 40}) {
      a.nQueries = n;
      QVERIFY_SAME(placed, a);
    }
  }
}

void CudaAttentionTest::rangesOfEveryKind() {
  Scene s = sceneOf(4, 1, 32, DType::bf16, DType::bf16);
  s.begin = {0, -5, 7, 60, 61, 62, 100, 140, 9, 3, 0, 149, 150, 64, 0, 20};
  s.end = {0, 4, 7, 61, 62, 126, 99, 150, -1, 150, 150, 150, 150, 128, 1, 21};
  s.begin.resize(150, 5);
  s.end.resize(150, 77);
  for (size_t q = 16; q < 150; ++q) s.begin[q % 37 ? q : 0] = static_cast<int32_t>(q * 31 % 140);
  for (const TestDevice& where : devices()) {
    Placed placed(s, where);
    for (const int64_t base : {0, 3, 127}) {
      s.base = base;
      QVERIFY_SAME(placed, slice(s.args(), 0, 16));
      QVERIFY_SAME(placed, slice(s.args(), 0, 21));
      for (const int64_t q : {0, 2, 6, 8}) QVERIFY_SAME(placed, slice(s.args(), q, q + 1));
    }
  }
}

void CudaAttentionTest::rowsMayBeMoreThanAreSeen() {
  Scene s = sceneOf(4, 2, 64, DType::bf16, DType::bf16);
  s.slots.resize(5000, 0x40000000);
  s.phases.resize(5000, 0x40000000);
  for (const TestDevice& where : devices()) {
    Placed placed(s, where);
    AttentionArgs a = s.args();
    a.rows = 5000;
    QVERIFY_SAME(placed, slice(a, 148, 150));
    QVERIFY_SAME(placed, slice(a, 110, 150));
  }
}

void CudaAttentionTest::massesAskedForOneByOne() {
  const Scene s = sceneOf(6, 2, 32, DType::f32, DType::f16);
  for (const TestDevice& where : devices()) {
    Placed placed(s, where);
    for (const int masses :
         {0, kNewest, kPerHead, 3, kReceived, 6, kHeads, kLast, kReceived | kHeads, kHeads | kLast | kNewest}) {
      QVERIFY_SAME(placed, slice(s.args(), 130, 133), masses);
      QVERIFY_SAME(placed, slice(s.args(), 110, 130), masses);
    }
  }
}

void CudaAttentionTest::bordersFollowTheIndex() {
  Scene s = sceneOf(2, 1, 16, DType::f16, DType::f32);
  for (const TestDevice& where : devices()) {
    Placed placed(s, where);
    for (const int64_t base : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{64}, int64_t{1} << 40}) {
      s.base = base;
      QVERIFY_SAME(placed, slice(s.args(), 140, 142));
      QVERIFY_SAME(placed, slice(s.args(), 100, 150));
    }
  }
}

void CudaAttentionTest::whatIsNoNumberStaysInItsRow() {
  Scene s = sceneOf(4, 2, 32, DType::f32, DType::f32);
  const auto at = [](size_t row, size_t e) { return row * 64 + e; };
  s.v[at(70, 3)] = NAN;
  s.v[at(71, 40)] = INFINITY;
  s.k[at(90, 5)] = NAN;
  s.k[at(100, 5)] = INFINITY;
  s.write();
  for (const TestDevice& where : devices()) {
    Placed placed(s, where);
    for (const auto& [q0, q1] : {std::pair<int, int>{68, 73}, {60, 80}, {80, 105}, {95, 103}})
      QVERIFY_SAME(placed, slice(s.args(), q0, q1));
  }
}

/// More blocks than the merge stages at a time, and than warps that share them.
void CudaAttentionTest::longContext() {
  Scene s({2, 1, 40, DType::bf16}, 9001);
  s.base = 31;
  s.begin[8999] = 77;
  for (const TestDevice& where : devices()) {
    Placed placed(s, where);
    for (const auto& [q0, q1] : {std::pair<int, int>{9000, 9001}, {8998, 9000}, {2047, 2049}})
      QVERIFY_SAME(placed, slice(s.args(), q0, q1));
  }
}

/// Scratch is bounded, so queries with much to keep go one batch after the other.
void CudaAttentionTest::batches() {
  Scene s = sceneOf(64, 1, 16, DType::bf16, DType::bf16);
  s.slots.resize(100000, 0);
  s.phases.resize(100000, 0);
  AttentionArgs a = s.args();
  a.rows = 100000;
  for (const int64_t n : {12, 22}) {
    AttentionArgs part = slice(a, 128, 128 + n);
    part.mass.received = s.table.data();  // only asked whether it is there
    QVERIFY(queriesPerBatch(part) < n);
    part.mass.received = nullptr;
    part.mass.lastAbove = s.slots.data();  // likewise
    QVERIFY(queriesPerBatch(part) < n);
    Placed placed(s, devices().front());
    QVERIFY_SAME(placed, slice(a, 128, 128 + n));
  }
}

void CudaAttentionTest::refusesToRunWithoutScratch() {
  const Scene s = sceneOf(1, 1, 16, DType::f32, DType::f32);
  for (const TestDevice& where : devices()) QVERIFY(where.api->attention(nullptr, slice(s.args(), 0, 1)) != 0);
}

KV_TEST(CudaAttentionTest)
#include "cuda_attention_test.moc"
