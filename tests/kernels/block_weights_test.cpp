// SPDX-License-Identifier: Apache-2.0
// Weights in blocks: every op gives the same bits as on the same weights widened to f32 before. Another test compares
// the widened values with the reference (unit/gguf_test).
#include "block_bytes.h"
#include "kernels/block_codes.h"
#include "kernels/ops/convert.h"
#include "kernels/ops/matmul.h"
#include "kernels/thread_pool.h"
#include "support.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

class BlockWeightsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void productsAreThoseOfWidenedWeights_data();
  void productsAreThoseOfWidenedWeights();
  void rowsOfATable_data() { types(); }
  void rowsOfATable();

 private:
  static void types() {
    QTest::addColumn<int>("type");
    for (const DType type : kBlockTypes) QTest::newRow(dtypeName(type)) << static_cast<int>(type);
  }
};

void BlockWeightsTest::productsAreThoseOfWidenedWeights_data() {
  QTest::addColumn<int>("type");
  QTest::addColumn<int>("m");
  QTest::addColumn<int>("n");
  QTest::addColumn<int>("k");
  for (const DType type : kBlockTypes)
    for (const int m : {1, 2, 3, 4, 5, 8, 9, 64})
      for (const auto& [n, k] : {std::pair{1, 256}, {37, 512}, {130, 2304}})
        QTest::newRow(qPrintable(QString("%1 %2x%3x%4").arg(dtypeName(type)).arg(m).arg(n).arg(k)))
            << static_cast<int>(type) << m << n << k;
}

void BlockWeightsTest::productsAreThoseOfWidenedWeights() {
  QFETCH(int, type);
  QFETCH(int, m);
  QFETCH(int, n);
  QFETCH(int, k);
  const auto t = static_cast<DType>(type);
  const auto codes = blocksOf(t, int64_t{n} * k, 7);
  ThreadPool one(1), two(2);
  std::vector<float> wide(static_cast<size_t>(n * k));
  convert({&two}, {codes.data(), t, wide.data(), DType::f32, int64_t{n} * k});
  std::vector<float> plain(wide.size());
  withBlockType(t, [&](auto is) { readBlocks<is()>(codes.data(), plain.data(), int64_t{n} * k); });
  QVERIFY(std::memcmp(wide.data(), plain.data(), wide.size() * 4) == 0);
  QVERIFY(std::all_of(wide.begin(), wide.end(), [](float x) { return std::isfinite(x); }));
  const auto x = Random(3).values(int64_t{m} * k);
  const auto bias = Random(4).values(n);
  MatmulArgs args{.x = x.data(), .w = {wide.data(), DType::f32, nullptr, n, k}, .bias = bias.data(), .m = m};
  std::vector<float> expected(static_cast<size_t>(m * n)), found(expected.size());
  args.y = expected.data();
  matmul({&one}, args);
  // The file's bytes have no alignment.
  std::vector<uint8_t> moved(codes.size() + 1);
  std::copy(codes.begin(), codes.end(), moved.begin() + 1);
  for (const int64_t target : fusedTargets()) {
    const OnTarget only(target);
    ThreadPool* const pool = target == fusedTargets().front() ? &one : &two;
    args.w = {moved.data() + 1, t, nullptr, n, k};
    args.y = found.data();
    matmul({pool}, args);
    QVERIFY(std::memcmp(found.data(), expected.data(), found.size() * 4) == 0);
  }
}

void BlockWeightsTest::rowsOfATable() {
  QFETCH(int, type);
  const auto t = static_cast<DType>(type);
  constexpr int64_t kRows = 9, kDim = 512;
  const auto codes = blocksOf(t, kRows * kDim, 21);
  std::vector<float> wide(kRows * kDim), rows(3 * kDim);
  withBlockType(t, [&](auto is) { readBlocks<is()>(codes.data(), wide.data(), kRows * kDim); });
  const int32_t ids[] = {8, 0, 5};
  ThreadPool pool(2);
  embedding({&pool}, {codes.data(), t, ids, rows.data(), 3, kDim, 2.0f});
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < kDim; ++j) QCOMPARE(rows[i * kDim + j], 2.0f * wide[static_cast<size_t>(ids[i]) * kDim + j]);
}

KV_TEST(BlockWeightsTest)
#include "block_weights_test.moc"
