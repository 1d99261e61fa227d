// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/diff_rows.h"
#include "kernels/ops/op_bytes.h"
#include "kernels/row_checksum.h"
#include "quant_reference.h"
#include "row_pool_fixture.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

class RowsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void layoutIsAligned();
  void readsBackWhatWasWritten();
  void normsAreThoseOfWhatIsStored();
  void writesOnlyItsRecords();
  void findsEveryFlippedBit();
  void findsExchangedWordsAndTags();
  void matchesTagsOfManyPools();
  void checksumNeedsNoOrder();
  void movesOverlapLikeMemmove();
  void opsCountTheirBytes();
  void zeroedRowsAreBad();
  void countsWhatDoesNotFit();
  void differences();
};

void RowsTest::layoutIsAligned() {
  for (RowFormat f : kFormats) {
    for (const DType t : {f.k, DType::i8}) {
      f.k = t;
      const RowLayout o = rowLayout(f);
      QCOMPARE(o.stride % 64, 0);
      for (const int64_t at : {o.v, o.kScales, o.vScales, o.tag}) QCOMPARE(at % 16, 0);
      QCOMPARE(o.checksum, o.tag + 8);
      QCOMPARE(o.stride, o.tag + 16);
      QCOMPARE(o.vScales - o.kScales, dtypeHasScale(t) ? alignUp(f.kvHeads * 4, 16) : 0);
      QVERIFY(o.tag >= o.vScales);
    }
  }
  static_assert(rowLayout({4, 64, DType::bf16, DType::bf16}).stride == 1088);
  static_assert(rowFormatSupported({4, 60, DType::f32, DType::i8}) &&
                rowFormatSupported({1, 1, DType::f16, DType::f32}));
  static_assert(!rowFormatSupported({4, 0, DType::f32, DType::f32}) &&
                !rowFormatSupported({4, 513, DType::f32, DType::f32}));
}

void RowsTest::readsBackWhatWasWritten() {
  for (const RowFormat& f : kFormats) {
    Pool p(f, 37);
    std::vector<float> k(p.k.size()), v(p.v.size()), kWant, vWant;
    std::vector<uint64_t> tags(37), sums(37);
    gatherRows(p.context,
               {.pool = p.bytes.data(), .fmt = f, .slots = p.slots.data(), .n = 37, .k = k.data(), .v = v.data()});
    readTags(p.context,
             {.pool = p.bytes.data(),
              .fmt = f,
              .slots = p.slots.data(),
              .n = 37,
              .tags = tags.data(),
              .checksums = sums.data()});
    kWant = readBack(p.k, f.headDim, f.k);
    vWant = readBack(p.v, f.headDim, f.v);
    QVERIFY(sameBits(k, kWant));
    QVERIFY(sameBits(v, vWant));
    QCOMPARE(tags, p.tags);
    QCOMPARE(sums[5], rowChecksum(p.record(p.slots[5]), p.layout.tag));
    QCOMPARE(p.bad(), 0);
  }
}

/// Against sums in f64 of the values that gatherRows reads.
void RowsTest::normsAreThoseOfWhatIsStored() {
  for (const RowFormat& f : kFormats) {
    Pool p(f, 37);
    std::vector<float> norms[] = {std::vector<float>(37), std::vector<float>(37)}, stored[] = {p.k, p.v};
    rowNorms(p.context, {p.bytes.data(), f, p.slots.data(), 37, norms[0].data(), norms[1].data()});
    gatherRows(p.context,
               {.pool = p.bytes.data(),
                .fmt = f,
                .slots = p.slots.data(),
                .n = 37,
                .k = stored[0].data(),
                .v = stored[1].data()});
    for (const size_t tensor : {0, 1})
      for (size_t row = 0; row < 37; ++row) {
        const float* values = stored[tensor].data() + row * static_cast<size_t>(p.width());
        double sum = 0;
        for (int64_t e = 0; e < p.width(); ++e) sum += double{values[e]} * values[e];
        QVERIFY(sum > 0 && std::fabs(norms[tensor][row] - std::sqrt(sum)) <= 1e-6 * std::sqrt(sum));
      }
  }
}

void RowsTest::writesOnlyItsRecords() {
  Pool p(kFormats[1], 20);
  for (int64_t slot = 0; slot < 25; ++slot) {
    if (std::find(p.slots.begin(), p.slots.end(), slot) != p.slots.end()) continue;
    for (int64_t i = 0; i < p.layout.stride; ++i) QCOMPARE(int{p.record(slot)[i]}, 0xee);
  }
}

void RowsTest::findsEveryFlippedBit() {
  for (const RowFormat& f : {kFormats[0], kFormats[1], kFormats[3], kFormats[5]}) {
    Pool p(f, 3);
    for (int64_t bit = 0; bit < p.layout.stride * 8; ++bit) {
      uint8_t& byte = p.record(p.slots[1])[bit / 8];
      const auto mask = static_cast<uint8_t>(1 << (bit % 8));
      byte ^= mask;
      std::vector<uint8_t> verdicts;
      QVERIFY2(p.bad(&verdicts) == 1 && (verdicts[1] & kRowBadChecksum), qPrintable(QString("bit %1").arg(bit)));
      const bool inTag = bit / 8 >= p.layout.tag && bit / 8 < p.layout.checksum;
      // Scales are part of the tag.
      const int64_t scalesEnd = p.layout.vScales + (dtypeHasScale(f.v) ? 4 * f.kvHeads : 0);
      const bool scaled = dtypeHasScale(f.k) || dtypeHasScale(f.v);
      const bool inScales = scaled && bit / 8 >= p.layout.kScales && bit / 8 < scalesEnd;
      QCOMPARE(bool(verdicts[1] & kRowBadTag), inTag || inScales);
      byte ^= mask;
    }
    QCOMPARE(p.bad(), 0);
  }
}

void RowsTest::findsExchangedWordsAndTags() {
  Pool p(kFormats[0], 4);
  uint8_t* record = p.record(p.slots[2]);
  std::swap_ranges(record, record + 4, record + 64);
  QCOMPARE(p.bad(), 1);
  std::swap_ranges(record, record + 4, record + 64);
  std::swap(p.slots[0], p.slots[1]);
  std::vector<uint8_t> verdicts;
  QCOMPARE(p.bad(&verdicts), 2);
  QCOMPARE(int{verdicts[0]}, int{kRowBadTag});
}

void RowsTest::matchesTagsOfManyPools() {
  Pool good(kFormats[0], 1500), bad(kFormats[1], 1500);
  bad.tags = good.tags;
  writeRows(bad.context,
            {.pool = bad.bytes.data(),
             .fmt = bad.fmt,
             .k = bad.k.data(),
             .v = bad.v.data(),
             .tags = bad.tags.data(),
             .slots = bad.slots.data(),
             .n = bad.n});
  for (const int64_t row : {0, 511, 512, 1499})
    bad.record(bad.slots[static_cast<size_t>(row)])[bad.layout.tag + 7] ^= 1;
  const PoolView pools[] = {{good.bytes.data(), good.fmt}, {bad.bytes.data(), bad.fmt}, {good.bytes.data(), good.fmt}};
  int64_t wrong[3] = {9, 9, 9};
  matchTags(good.context, {pools, 3, good.slots.data(), good.tags.data(), 1500, wrong});
  QCOMPARE(wrong[0], 0);
  QCOMPARE(wrong[1], 4);
  QCOMPARE(wrong[2], 0);
  matchTags(good.context, {pools, 3, good.slots.data(), good.tags.data(), 0, wrong});
  QCOMPARE(wrong[1], 0);
}

void RowsTest::checksumNeedsNoOrder() {
  Pool p(kFormats[3], 2);
  const uint8_t* record = p.record(p.slots[0]);
  uint64_t sum = checksumSeed(p.tags[0]);
  for (int64_t at = p.layout.tag - 4; at >= 0; at -= 4) {
    uint32_t word;
    memcpy(&word, record + at, 4);
    sum += checksumTerm(word, static_cast<uint64_t>(at / 4));
  }
  QCOMPARE(sum, rowChecksum(record, p.layout.tag));
}

void RowsTest::movesOverlapLikeMemmove() {
  Pool p(kFormats[2], 12);
  std::vector<uint8_t> want = p.bytes;
  const auto stride = static_cast<size_t>(p.layout.stride);
  memmove(want.data() + 4 * stride, want.data() + 2 * stride, 6 * stride);
  memmove(want.data(), want.data() + 1 * stride, 3 * stride);
  const RowMove moves[] = {{2, 4, 6}, {1, 0, 3}};
  moveRows(p.context, {.fromPool = p.bytes.data(), .toPool = p.bytes.data(), .fmt = p.fmt, .moves = moves, .n = 2});
  QVERIFY(want == p.bytes);
}

/// Records of 1088 bytes, 512 of them keys and 512 values, and f32 of 1024 bytes for each.
void RowsTest::opsCountTheirBytes() {
  constexpr RowFormat kFormat = kFormats[2];
  const RowMove moves[] = {{2, 4, 6}, {1, 0, 3}, {7, 7, 0}};
  QCOMPARE(rowsOf(moves), 9);
  QCOMPARE(opBytes(MoveRowsArgs{.fmt = kFormat, .moves = moves, .n = 3, .rows = rowsOf(moves)}), 9 * (1088 + 1088));
  QCOMPARE(opBytes(ZeroRowsArgs{.fmt = kFormat, .n = 3}), 3 * 1088);
  QCOMPARE(opBytes(WriteRowsArgs{.fmt = kFormat, .n = 2}), 2 * (1024 + 1024 + 1088));
  QCOMPARE(opBytes(VerifyRowsArgs{.fmt = kFormat, .n = 5}), 5 * 1088);
  float values[1];
  uint64_t words[1];
  QCOMPARE(opBytes(GatherRowsArgs{.fmt = kFormat, .n = 3, .k = values}), 3 * (512 + 1024));
  QCOMPARE(opBytes(GatherRowsArgs{.fmt = kFormat, .n = 3, .k = values, .v = values}), 3 * (1024 + 2048));
  QCOMPARE(opBytes(ReadTagsArgs{.fmt = kFormat, .n = 3, .tags = words}), 3 * (8 + 8));
  QCOMPARE(opBytes(ReadTagsArgs{.fmt = kFormat, .n = 3, .tags = words, .checksums = words}), 3 * 2 * (8 + 8));
  QCOMPARE(opBytes(MatchTagsArgs{.nPools = 4, .n = 3}), 3 * (4 * 8 + 8 + 4));
  QCOMPARE(opBytes(RowNormsArgs{.fmt = kFormat, .n = 3, .k = values, .v = values}), 3 * (1024 + 2 * 4));
}

void RowsTest::zeroedRowsAreBad() {
  Pool p(kFormats[4], 5);
  zeroRows(p.context, {.pool = p.bytes.data(), .fmt = p.fmt, .slots = p.slots.data() + 1, .n = 3});
  QCOMPARE(p.bad(), 3);
  for (int64_t i = 0; i < p.layout.stride; ++i) QCOMPARE(int{p.record(p.slots[2])[i]}, 0);
}

void RowsTest::countsWhatDoesNotFit() {
  Pool p({1, 16, DType::f16, DType::bf16}, 2);
  p.k[3] = 70000;
  p.k[4] = INFINITY;
  p.v[20] = NAN;
  p.v[21] = 70000;
  WriteRowsStats stats;
  writeRows(p.context,
            {.pool = p.bytes.data(),
             .fmt = p.fmt,
             .k = p.k.data(),
             .v = p.v.data(),
             .tags = p.tags.data(),
             .slots = p.slots.data(),
             .n = 2,
             .stats = &stats});
  QCOMPARE(stats.k.nonFinite, 1);
  QCOMPARE(stats.k.clipped, 1);
  QCOMPARE(stats.v.nonFinite, 1);
  QCOMPARE(stats.v.clipped, 0);
}

void RowsTest::differences() {
  ThreadPool pool(1);
  std::vector<float> a = {1, 2, 2, 0, 0, 0, 1, 0, 0, 0, 3, 4}, b = {1, 2, 2, 0, 0, 0, 0, 0, 0, 0, 3, 5};
  double l2[4], cosine[4], largest[4];
  diffRows(
      {&pool},
      {.a = a.data(), .reference = b.data(), .n = 4, .dim = 3, .relativeL2 = l2, .cosine = cosine, .maxAbs = largest});
  QCOMPARE(l2[0], 0.0);
  QCOMPARE(cosine[0], 1.0);
  QCOMPARE(l2[1], 0.0);
  QCOMPARE(cosine[1], 1.0);
  QCOMPARE(l2[2], double{INFINITY});
  QCOMPARE(cosine[2], 0.0);
  QCOMPARE(l2[3], 1 / std::sqrt(34.0));
  QCOMPARE(cosine[3], 29 / (5 * std::sqrt(34.0)));
  QCOMPARE(largest[3], 1.0);
}

KV_TEST(RowsTest)
#include "rows_test.moc"
