// SPDX-License-Identifier: Apache-2.0
// The launch that moves records, from sizes alone: whole sectors, and threads enough for a device.
#include <QtTest>

#include <set>

#include "kernels/cuda/rows/move_plan.h"
#include "support/runner.h"

using namespace kvlab::kernels::cuda;

namespace {

constexpr int64_t kMiB = 1 << 20;

/// Bytes that the first warp of a block asks for, over those of the sectors that it touches.
double sectorEfficiency(const MovePlan& plan, int64_t stride, int64_t slab) {
  std::set<int64_t> sectors;
  int64_t bytes = 0;
  for (int64_t thread = 0; thread < 32; ++thread) {
    const int64_t column = (slab * plan.columns() + thread % plan.columns()) * 16;
    if (column >= stride) continue;
    bytes += 16;
    sectors.insert((thread / plan.columns() * stride + column) / 32);
  }
  return static_cast<double>(bytes) / static_cast<double>(32 * sectors.size());
}

}  // namespace

class MovePlanTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// Records of SmolLM2-135M, TinyLlama, Llama-3-8B and Llama-3-70B, f32 heads of 256 values; on devices from a T4 to
  /// an RTX 5090.
  void aMebibyteFillsADevice_data() {
    QTest::addColumn<int>("stride");
    QTest::addColumn<int>("multiprocessors");
    for (const int stride : {64, 832, 1088, 4160, 8256, 16448})
      for (const int multiprocessors : {40, 46, 108, 128, 132, 148, 170})
        QTest::addRow("%d bytes, %d multiprocessors", stride, multiprocessors) << stride << multiprocessors;
  }
  void aMebibyteFillsADevice() {
    QFETCH(int, stride);
    QFETCH(int, multiprocessors);
    const int64_t rows = kMiB / stride, words = rows * stride / 16;
    for (const bool ordered : {false, true}) {
      const MovePlan plan = movePlan(stride, rows, ordered, multiprocessors);
      QVERIFY(plan.threads % 32 == 0 && plan.threads <= kMoveThreads && plan.threads >= plan.columns());
      QVERIFY(plan.slabs * plan.columns() * 16 >= stride && (plan.slabs - 1) * plan.columns() * 16 < stride);
      for (int64_t slab = 0; slab < plan.slabs; ++slab) QVERIFY(sectorEfficiency(plan, stride, slab) >= 0.9);
      QVERIFY(plan.slabs * plan.shares >= multiprocessors);                                   // a block for each
      QVERIFY(plan.slabs * plan.shares * plan.threads / 32 >= int64_t{8} * multiprocessors);  // eight warps for each
      if (!ordered || stride == 64) continue;
      // Rows that need their order: one block a slab, and still all of the pool is under way at once.
      QVERIFY2(plan.slabs * plan.threads * kMoveAhead >= words, qPrintable(QString::number(plan.threads)));
    }
  }

  void fewRowsTakeFewThreads() {
    QCOMPARE(movePlan(1088, 1, true, 132).shares, int64_t{1});
    QCOMPARE(movePlan(1088, 1, true, 132).threads, 32);
    QCOMPARE(movePlan(1088, 0, false, 132).shares, int64_t{1});  // unknown
  }
};

KV_TEST(MovePlanTest)
#include "move_plan_test.moc"
