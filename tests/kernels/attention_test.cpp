// SPDX-License-Identifier: Apache-2.0
#include "attention_scene.h"
#include "kernels/ops/rope.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

class AttentionTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void closeToDouble();
  void queriesDoNotSeeEachOther();
  void threadsChangeNothing();
  void rowsBeyondTheRangeChangeNothing();
  void slotsChangeNothing();
  void targetsAgree();
  void selfRowEqualsARowOfTheMap();
  void rotatedKeysEqualRotationOnRead();
  void blockBordersFollowTheIndex();
  void groupedHeadsEqualRepeatedHeads();
  void masses();
  void receivedMassDoesNotDependOnChunks();
  void headsAndLastUse();
  void selfRowsAreUsedLast();
  void emptyRangeGivesZero();
};

void AttentionTest::closeToDouble() {
  for (const Shape& shape : kShapes) {
    Scene s(shape, 150);
    for (size_t q = 0; q < 150; q += 7) s.begin[q] = std::max(0, s.end[q] - 70);
    const double error = relativeError(run(s), Reference(s).out);
    QVERIFY2(error < 2e-6,
             qPrintable(QString("head_dim %1: relative error %2, tolerance 2e-6").arg(shape.headDim).arg(error)));
  }
}

void AttentionTest::queriesDoNotSeeEachOther() {
  for (const Shape& shape : kShapes) {
    const Scene s(shape, 200);
    const std::vector<float> whole = run(s);
    for (const int64_t chunk : {1, 3, 16, 17, 64, 65}) {
      for (int64_t q = 0; q < s.rows; q += chunk) {
        const int64_t end = std::min(s.rows, q + chunk);
        const std::vector<float> part = run(slice(s.args(), q, end), 2);
        QVERIFY2(sameBits(part.data(), whole.data() + q * s.width(), (end - q) * s.width()),
                 qPrintable(QString("head_dim %1, queries %2..%3").arg(shape.headDim).arg(q).arg(end)));
      }
    }
  }
}

void AttentionTest::threadsChangeNothing() {
  for (const Shape& shape : {kShapes[2], kShapes[6]}) {
    Scene s(shape, 2100);
    for (const auto& [q0, q1] : {std::pair<int64_t, int64_t>{2099, 2100}, {2090, 2100}, {0, 300}}) {
      const AttentionArgs a = slice(s.args(), q0, q1);
      const std::vector<float> one = run(a, 1);
      QVERIFY(sameBits(one, run(a, 2)));
      QVERIFY(sameBits(one, run(a, 4)));
      QVERIFY(sameBits(one, run(a, 16)));
    }
  }
}

void AttentionTest::rowsBeyondTheRangeChangeNothing() {
  Scene s({4, 2, 32}, 300);
  const std::vector<float> clean = run(slice(s.args(), 100, 101));
  for (int64_t i = 101; i < 300; ++i) {
    for (int64_t j = 0; j < 64; ++j) s.k[static_cast<size_t>(i * 64 + j)] = s.v[static_cast<size_t>(i * 64 + j)] = NAN;
  }
  s.write();
  QVERIFY(sameBits(clean, run(slice(s.args(), 100, 101))));
  AttentionArgs shorter = slice(s.args(), 100, 101);
  shorter.rows = 101;
  QVERIFY(sameBits(clean, run(shorter)));
  const std::vector<float> many = run(slice(s.args(), 98, 110));
  QVERIFY(sameBits(clean.data(), many.data() + 2 * s.width(), s.width()));
}

void AttentionTest::slotsChangeNothing() {
  Scene s(kShapes[6], 180);
  const std::vector<float> straight = run(s);
  for (int32_t i = 0; i < 180; ++i) s.slots[static_cast<size_t>(i)] = (i * 67 + 5) % 181;
  s.write();
  QVERIFY(sameBits(straight, run(s)));
}

void AttentionTest::targetsAgree() {
  for (const Shape& shape : kShapes) {
    const Scene s(shape, 140);
    std::vector<float> first;
    for (const int64_t target : fusedTargets()) {
      const OnTarget only(target);
      const std::vector<float> out = run(s);
      if (first.empty()) first = out;
      QVERIFY2(sameBits(first, out),
               qPrintable(QString("%1, head_dim %2").arg(hwy::TargetName(target)).arg(shape.headDim)));
      const std::vector<float> alone = run(slice(s.args(), 139, 140));  // read in place, not copied
      QVERIFY2(sameBits(alone.data(), first.data() + 139 * s.width(), s.width()),
               qPrintable(QString("%1, head_dim %2, one query").arg(hwy::TargetName(target)).arg(shape.headDim)));
    }
  }
}

void AttentionTest::selfRowEqualsARowOfTheMap() {
  for (const Shape& shape : kShapes) {
    const Scene s(shape, 130);
    const std::vector<float> mapped = run(s);
    std::vector<int32_t> before(s.end);
    for (int32_t& e : before) --e;
    AttentionArgs a = s.args();
    a.rowEnd = before.data();
    a.selfSlot = s.slots.data();
    a.selfPhaseIndex = s.phases.data();
    QVERIFY2(sameBits(mapped, run(a)), qPrintable(QString("head_dim %1").arg(shape.headDim)));
  }
}

void AttentionTest::rotatedKeysEqualRotationOnRead() {
  Scene s({4, 2, 48}, 100);
  const std::vector<float> onRead = run(s);
  ThreadPool pool(1);
  rope({&pool},
       {.x = s.k.data(), .phaseIndex = s.phases.data(), .table = s.table.data(), .n = 100, .heads = 2, .headDim = 48});
  s.write();
  s.rotated = true;
  QVERIFY(sameBits(onRead, run(s)));
}

void AttentionTest::blockBordersFollowTheIndex() {
  const Scene s({2, 1, 32}, 400);
  AttentionArgs window = slice(s.args(), 399, 400);
  const int32_t begin = 250, end = 400, cutBegin = 0, cutEnd = 150;
  window.rowBegin = &begin;
  window.rowEnd = &end;
  AttentionArgs cut = window;
  cut.slots += 250;
  cut.phaseIndex += 250;
  cut.rows = 150;
  cut.rowBegin = &cutBegin;
  cut.rowEnd = &cutEnd;
  cut.indexBase = 250;
  QVERIFY(sameBits(run(window), run(cut)));
  cut.indexBase = 250 + 64 * 1000;
  QVERIFY(sameBits(run(window), run(cut)));
}

void AttentionTest::groupedHeadsEqualRepeatedHeads() {
  const Scene grouped({6, 2, 32}, 120);
  Scene repeated({6, 6, 32}, 120);
  repeated.queries = grouped.queries;
  for (size_t i = 0; i < 120 * 6 * 32; ++i) {
    const size_t row = i / 192, head = i % 192 / 32 / 3, d = i % 32;
    repeated.k[i] = grouped.k[(row * 2 + head) * 32 + d];
    repeated.v[i] = grouped.v[(row * 2 + head) * 32 + d];
  }
  repeated.write();
  QVERIFY(sameBits(run(grouped), run(repeated)));
}

void AttentionTest::masses() {
  const Scene s({6, 2, 32}, 200);
  const size_t rows = 200, heads = 6;
  const Reference want(s);
  std::vector<float> newest(rows + 1, NAN), perHead(heads * (rows + 1), NAN), received(rows + 1, 0.5f);
  AttentionArgs a = s.args();
  a.mass.newest = newest.data();
  a.mass.newestPerHead = perHead.data();
  a.mass.received = received.data();
  QVERIFY(sameBits(run(a, 2), run(s)));
  double worst = 0;
  for (size_t j = 0; j < rows; ++j) {
    double sum = 0, last = 0;
    for (size_t i = 0; i < rows * heads; ++i) sum += want.mass[i * rows + j];
    for (size_t h = 0; h < heads; ++h) {
      const double p = want.mass[((rows - 1) * heads + h) * rows + j];
      worst = std::max(worst, std::fabs(double{perHead[h * (rows + 1) + j]} - p));
      last += p;
    }
    worst = std::max(worst, std::fabs(double{newest[j]} - last / 6));
    worst = std::max(worst, std::fabs(double{received[j]} - 0.5 - sum / 6) / (1 + sum / 6));
  }
  QVERIFY2(worst < 2e-6, qPrintable(QString("largest error %1, tolerance 2e-6").arg(worst)));
  QCOMPARE(newest[rows], 0.0f);
  QCOMPARE(received[rows], 0.5f);
  const int32_t end = 199, slot = 199, phase = s.phases[199];
  AttentionArgs self = slice(a, 199, 200);
  self.rowEnd = &end;
  self.selfSlot = &slot;
  self.selfPhaseIndex = &phase;
  std::vector<float> withSelf(rows + 1, NAN);
  self.mass.newest = withSelf.data();
  run(self);
  QVERIFY(sameBits(withSelf.data(), newest.data(), 199));
  QCOMPARE(withSelf[199], 0.0f);
  QCOMPARE(withSelf[200], newest[199]);
}

void AttentionTest::receivedMassDoesNotDependOnChunks() {
  const Scene s({8, 2, 16}, 260);
  std::vector<float> whole(261, 0.0f);
  AttentionArgs a = s.args();
  a.mass.received = whole.data();
  run(a);
  for (const int64_t chunk : {1, 37, 64}) {
    std::vector<float> parts(261, 0.0f);
    a.mass.received = parts.data();
    for (int64_t q = 0; q < 260; q += chunk) run(slice(a, q, std::min<int64_t>(260, q + chunk)), 4);
    QVERIFY(sameBits(whole, parts));
  }
}

/// Against f64, in chunks and by any number of threads; a NaN is above nothing.
void AttentionTest::headsAndLastUse() {
  const Scene s({6, 2, 32}, 150);
  const Reference want(s);
  constexpr float kAbove = 0.0413f;
  std::vector<int32_t> index;
  for (int32_t q = 0; q < 150; ++q) index.push_back(1000 - q * 3);  // descending: the first use is the largest
  std::vector<float> heads[2];
  std::vector<int32_t> last[2];
  for (const int64_t chunk : {150, 41}) {
    std::vector<float>& sums = heads[chunk == 150 ? 0 : 1];
    std::vector<int32_t>& uses = last[chunk == 150 ? 0 : 1];
    sums.assign(6 * 151, 0.25f);
    uses.assign(2 * 151, -1);
    for (int64_t q = 0; q < 150; q += chunk) {
      AttentionArgs a = slice(s.args(), q, std::min<int64_t>(150, q + chunk));
      a.mass.receivedPerHead = sums.data();
      a.mass.lastAbove = uses.data();
      a.queryIndex = index.data() + q;
      a.aboveThreshold = kAbove;
      const std::vector<float> out = run(a, chunk == 150 ? 1 : 4);
      QVERIFY(sameBits(out, run(slice(s.args(), q, std::min<int64_t>(150, q + chunk)))));
    }
  }
  QVERIFY(sameBits(heads[0], heads[1]));
  QCOMPARE(last[0], last[1]);
  double worst = 0;
  int used = 0;
  for (size_t j = 0; j < 150; ++j)
    for (size_t kv = 0; kv < 2; ++kv) {
      int32_t wanted = -1;
      for (size_t q = 0; q < 150; ++q) {
        double largest = 0;
        for (size_t h = kv * 3; h < kv * 3 + 3; ++h) largest = std::max(largest, want.mass[(q * 6 + h) * 150 + j]);
        QVERIFY2(std::fabs(largest - double{kAbove}) > 1e-6, "the scene has a probability at the threshold");
        if (largest > double{kAbove}) wanted = std::max(wanted, index[q]);
      }
      QCOMPARE(last[0][kv * 151 + j], wanted);
      used += wanted >= 0;
      for (size_t h = kv * 3; h < kv * 3 + 3; ++h) {
        double sum = 0.25;
        for (size_t q = 0; q < 150; ++q) sum += want.mass[(q * 6 + h) * 150 + j];
        worst = std::max(worst, std::fabs(double{heads[0][h * 151 + j]} - sum) / sum);
      }
    }
  QVERIFY2(worst < 2e-6, qPrintable(QString("largest error %1, tolerance 2e-6").arg(worst)));
  QVERIFY(used > 20 && used < 300);
}

void AttentionTest::selfRowsAreUsedLast() {
  const Scene s({2, 1, 16}, 6);
  const int32_t end = 5, slot = 5, phase = s.phases[5], index = 77;
  AttentionArgs a = slice(s.args(), 5, 6);
  a.rowEnd = &end;
  a.selfSlot = &slot;
  a.selfPhaseIndex = &phase;
  std::vector<float> heads(2 * 7, 0.0f), perHead(2 * 7, NAN);
  std::vector<int32_t> last(7, 5);
  a.mass.newestPerHead = perHead.data();
  a.mass.receivedPerHead = heads.data();
  a.mass.lastAbove = last.data();
  a.queryIndex = &index;
  run(a);  // threshold 0
  QVERIFY(sameBits(heads, perHead));
  QVERIFY(heads[6] > 0 && heads[13] > 0);
  QCOMPARE(last, std::vector<int32_t>({77, 77, 77, 77, 77, 5, 77}));
  a.aboveThreshold = 1.0f;
  last.assign(7, -1);
  run(a);
  QCOMPARE(last, std::vector<int32_t>(7, -1));
}

void AttentionTest::emptyRangeGivesZero() {
  Scene s({2, 1, 16}, 10);
  s.begin[4] = s.end[4];
  std::vector<float> received(11, 0.0f), newest(11, NAN);
  AttentionArgs a = slice(s.args(), 4, 5);
  a.mass.received = received.data();
  a.mass.newest = newest.data();
  QVERIFY(run(a) == std::vector<float>(32, 0.0f));
  QVERIFY(received == std::vector<float>(11, 0.0f));
  QVERIFY(newest == std::vector<float>(11, 0.0f));
}

KV_TEST(AttentionTest)
#include "attention_test.moc"
