// SPDX-License-Identifier: Apache-2.0
// Quantised rows on the CPU: against their definition, on every instruction set; the counters of writes; and attention,
// which reads them like f32 rows with the same values.
#include "attention_scene.h"
#include "kernels/row_quant.h"
#include "quant_reference.h"
#include "row_pool_fixture.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

namespace {

constexpr DType kQuantTypes[] = {DType::i8, DType::fp8e4m3};
constexpr DType kRowTypes[] = {DType::f32, DType::f16, DType::bf16, DType::i8, DType::fp8e4m3};

/// Rows of one head whose K and V are the same values.
struct Written {
  RowFormat fmt;
  RowLayout o;
  int64_t n;
  std::vector<uint8_t> pool;
  WriteRowsStats stats;
  std::vector<int32_t> slots;

  Written(const std::vector<float>& x, int32_t heads, int32_t headDim, DType t, int threads = 1)
      : fmt{heads, headDim, t, t}, o(rowLayout(fmt)), n(static_cast<int64_t>(x.size()) / (heads * headDim)) {
    pool.assign(static_cast<size_t>(n * o.stride), 0xee);
    const std::vector<uint64_t> tags(static_cast<size_t>(n), 5);
    for (int32_t i = 0; i < n; ++i) slots.push_back(i);
    ThreadPool workers(threads);
    writeRows({&workers},
              {.pool = pool.data(),
               .fmt = fmt,
               .k = x.data(),
               .v = x.data(),
               .tags = tags.data(),
               .slots = slots.data(),
               .n = n,
               .stats = &stats});
  }
  const uint8_t* record(int64_t i) const { return pool.data() + i * o.stride; }
  std::vector<float> gathered() const {
    std::vector<float> k(static_cast<size_t>(n * fmt.kvHeads * fmt.headDim)), v(k.size());
    ThreadPool workers(1);
    gatherRows({&workers},
               {.pool = pool.data(), .fmt = fmt, .slots = slots.data(), .n = n, .k = k.data(), .v = v.data()});
    return sameBits(k, v) || std::isnan(k[0]) ? k : std::vector<float>();
  }
};

float scaleAt(const uint8_t* at) {
  float scale;
  memcpy(&scale, at, 4);
  return scale;
}

bool sameButNan(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

/// Everything a head can be: ties, subnormal codes, zeros, tiny, huge, both signs.
std::vector<float> hardHeads(int64_t headDim, DType t) {
  std::vector<float> x;
  const float most = t == DType::i8 ? 127.0f : 448.0f;
  const auto head = [&](auto value) {
    for (int64_t i = 0; i < headDim; ++i) x.push_back(value(i));
  };
  for (const float scale : {1.0f, 0.25f, 1024.0f}) {  // powers of two: quotients are what is written here
    head([&](int64_t i) { return scale * (i == 3 ? most : static_cast<float>(i - headDim / 2) + 0.5f); });
    head([&](int64_t i) {
      return scale * (i == 0 ? -most : static_cast<float>(i) * 0x1p-10f);
    });  // halves of the smallest E4M3
    head([&](int64_t i) { return scale * (i == 1 ? most : 16.0f + static_cast<float>(i)); });  // ties of 2 and 4
    head([&](int64_t i) { return scale * (i == 1 ? most : -0x1p-6f + static_cast<float>(i) * 0x1p-13f); });
  }
  head([](int64_t) { return 0.0f; });
  head([](int64_t i) { return i % 2 ? -0.0f : 0.0f; });
  head([](int64_t i) { return static_cast<float>(i) * 1e-9f; });   // the floor
  head([](int64_t i) { return static_cast<float>(i) * 1e-42f; });  // subnormal inputs
  head([](int64_t i) { return i == 2 ? 3.3e38f : static_cast<float>(i) * 1e36f; });
  head([&](int64_t) { return most * 1e-8f; });  // at the floor exactly, or next to it
  return x;
}

}  // namespace

class QuantRowsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void scalarConversionsFollowTheDefinition();
  void everyCodeReadsAsDefined();
  void codesFollowTheDefinition();
  void whatIsNoNumberSpoilsItsHead();
  void statsCountEveryTensor();
  void scaleSumsAreExact();
  void readsScales();
  void movedRecordsKeepTheirScales();
  void flippedBitsOfScalesAreFound();
  void attentionReadsWhatRowsMean_data();
  void attentionReadsWhatRowsMean();
  void selfRowsAndMasses();
  void instructionSetsAgree();
};

void QuantRowsTest::scalarConversionsFollowTheDefinition() {
  for (int code = 0; code < 256; ++code) {
    QVERIFY(sameButNan(fp8ToFloat(static_cast<uint8_t>(code)), fp8Value(code)));
    if (!std::isnan(fp8Value(code))) QCOMPARE(int{floatToFp8(fp8Value(code))}, code);
  }
  for (int code = 0; code < 0x7e; ++code) {  // between two neighbours, and at the middle
    const float low = fp8Value(code), high = fp8Value(code + 1), middle = (low + high) / 2;
    QCOMPARE(int{floatToFp8(std::nextafter(middle, 0.0f))}, code);
    QCOMPARE(int{floatToFp8(std::nextafter(middle, 1e9f))}, code + 1);
    QCOMPARE(int{floatToFp8(middle)}, code % 2 ? code + 1 : code);
    QCOMPARE(int{floatToFp8(-middle)}, 0x80 | (code % 2 ? code + 1 : code));
  }
  for (const float x : {449.0f, 464.0f, 465.0f, 1e30f, INFINITY}) QCOMPARE(int{floatToFp8(x)}, 0x7e);
  QCOMPARE(int{floatToFp8(-INFINITY)}, 0xfe);
  QVERIFY((floatToFp8(NAN) & 0x7f) == 0x7f);
  for (int i = -1300; i <= 1300; ++i) {
    const float x = static_cast<float>(i) / 10;
    const float wanted = std::fmax(-127.0f, std::fmin(127.0f, std::nearbyint(x)));
    QCOMPARE(codeValue(quantCode(x, DType::i8), DType::i8), wanted);
  }
}

void QuantRowsTest::everyCodeReadsAsDefined() {
  for (const int64_t target : fusedTargets())
    for (const DType t : kQuantTypes)
      for (const float scale : {1.0f, 0.37f, 1e-8f, 7e35f}) {
        const OnTarget only(target);
        Written rows(std::vector<float>(256, 1.0f), 1, 256, t);
        uint8_t* record = rows.pool.data();
        for (int code = 0; code < 256; ++code)
          record[rows.o.k + code] = record[rows.o.v + code] = static_cast<uint8_t>(code);
        memcpy(record + rows.o.kScales, &scale, 4);
        memcpy(record + rows.o.vScales, &scale, 4);
        std::vector<float> k(256), v(256);
        ThreadPool workers(1);
        gatherRows({&workers},
                   {.pool = record, .fmt = rows.fmt, .slots = rows.slots.data(), .n = 1, .k = k.data(), .v = v.data()});
        for (size_t code = 0; code < 256; ++code) {
          const float wanted = codeMeans(static_cast<uint8_t>(code), t) * scale;
          QVERIFY2(sameButNan(k[code], wanted) && sameButNan(v[code], wanted),
                   qPrintable(QString("%1, %2 code %3: %4, wanted %5")
                                  .arg(hwy::TargetName(target))
                                  .arg(dtypeName(t))
                                  .arg(code)
                                  .arg(k[code])
                                  .arg(wanted)));
        }
      }
}

void QuantRowsTest::codesFollowTheDefinition() {
  for (const int64_t target : fusedTargets())
    for (const DType t : kQuantTypes)
      for (const int32_t headDim : {1, 4, 9, 12, 16, 20, 24, 40, 64, 66, 256}) {
        const OnTarget only(target);
        std::vector<float> x = hardHeads(headDim, t), more = Random(3).values(20 * headDim, 5);
        x.insert(x.end(), more.begin(), more.end());
        const Written rows(x, 1, headDim, t);
        for (int64_t i = 0; i < rows.n; ++i) {
          const QuantHead wanted(x.data() + i * headDim, headDim, t);
          QVERIFY(sameButNan(scaleAt(rows.record(i) + rows.o.kScales), wanted.scale) &&
                  sameButNan(scaleAt(rows.record(i) + rows.o.vScales), wanted.scale));
          for (int32_t e = 0; e < headDim; ++e)
            QVERIFY2(rows.record(i)[rows.o.k + e] == wanted.codes[static_cast<size_t>(e)] &&
                         rows.record(i)[rows.o.v + e] == wanted.codes[static_cast<size_t>(e)],
                     qPrintable(QString("%1, %2 head %3 of %4, value %5: %6 is code %7, wanted %8")
                                    .arg(hwy::TargetName(target))
                                    .arg(dtypeName(t))
                                    .arg(i)
                                    .arg(headDim)
                                    .arg(e)
                                    .arg(double{x[static_cast<size_t>(i * headDim + e)]})
                                    .arg(rows.record(i)[rows.o.k + e])
                                    .arg(wanted.codes[static_cast<size_t>(e)])));
        }
        QVERIFY(sameBits(rows.gathered(), readBack(x, headDim, t)));
      }
}

void QuantRowsTest::whatIsNoNumberSpoilsItsHead() {
  for (const DType t : kQuantTypes)
    for (const float odd : {NAN, INFINITY, -INFINITY}) {
      std::vector<float> x = Random(4).values(3 * 2 * 24, 2), clean = x;
      x[24 + 7] = odd;  // row 0, head 1
      const Written rows(x, 2, 24, t);
      QVERIFY(std::isnan(scaleAt(rows.record(0) + rows.o.vScales + 4)));
      for (int e = 24; e < 48; ++e) QCOMPARE(int{rows.record(0)[rows.o.v + e]}, 0);
      std::vector<float> v(x.size());
      ThreadPool workers(1);
      gatherRows({&workers},
                 {.pool = rows.pool.data(), .fmt = rows.fmt, .slots = rows.slots.data(), .n = 3, .v = v.data()});
      const std::vector<float> wanted = readBack(clean, 24, t);
      for (size_t i = 0; i < v.size(); ++i) QVERIFY(i / 24 == 1 ? std::isnan(v[i]) : sameBits(&v[i], &wanted[i], 1));
      QCOMPARE(rows.stats.k.nonFinite, 1);
      QCOMPARE(rows.stats.k.scales, 5);
    }
}

void QuantRowsTest::statsCountEveryTensor() {
  for (const DType t : kQuantTypes) {
    std::vector<float> x = hardHeads(16, t);
    while (x.size() % 32) x.push_back(0.5f);
    const Written rows(x, 2, 16, t), again(x, 2, 16, t, 3);
    TensorStats wanted;
    double sum = 0;
    for (size_t at = 0; at < x.size(); at += 16) {
      const QuantHead head(x.data() + at, 16, t);
      for (const uint8_t code : head.codes)
        wanted.atMax += std::fabs(codeMeans(code, t)) == (t == DType::i8 ? 127.0f : 448.0f);
      ++wanted.scales;
      wanted.floored += head.scale == 1e-8f;
      wanted.scaleMin = std::min(wanted.scaleMin, head.scale);
      wanted.scaleMax = std::max(wanted.scaleMax, head.scale);
      sum += double{head.scale};
    }
    for (const TensorStats& got : {rows.stats.k, rows.stats.v}) {
      QCOMPARE(got.atMax, wanted.atMax);
      QCOMPARE(got.scales, wanted.scales);
      QCOMPARE(got.floored, wanted.floored);
      QCOMPARE(got.scaleMin, wanted.scaleMin);
      QCOMPARE(got.scaleMax, wanted.scaleMax);
      QCOMPARE(got.clipped, 0);
      QCOMPARE(got.nonFinite, 0);
      QVERIFY(std::fabs(got.sumOfScales() - sum) <= 1e-12 * sum);
    }
    QVERIFY(memcmp(&rows.stats, &again.stats, sizeof rows.stats) == 0);
    QVERIFY(wanted.floored >= 4);
  }
}

void QuantRowsTest::scaleSumsAreExact() {
  TensorStats stats;
  long double sum = 0;
  Random r(6);
  for (int i = 0; i < 3000; ++i) {
    const float scale = std::ldexp(1.0f + std::fabs(r.value()), static_cast<int>(r.below(30)) - 26);
    const ScaleWords words = scaleWords(scale);
    stats.scaleSum[words.first] += words.low;
    stats.scaleSum[words.first + 1] += words.high;
    sum += static_cast<long double>(scale);
  }
  QCOMPARE(stats.sumOfScales(), static_cast<double>(sum));
  for (const float scale : {1e-8f, 1.0f, 0.123f, 3e36f, 2.7e36f, 0x1p-18f}) {
    TensorStats one;
    const ScaleWords words = scaleWords(scale);
    QVERIFY(words.first >= 0 && words.first + 1 < TensorStats::kSumWords);
    one.scaleSum[words.first] = words.low;
    one.scaleSum[words.first + 1] = words.high;
    QCOMPARE(one.sumOfScales(), double{scale});
  }
}

void QuantRowsTest::readsScales() {
  for (const RowFormat& f : kFormats) {
    Pool p(f, 20);
    const auto heads = static_cast<size_t>(f.kvHeads);
    std::vector<float> k(20 * heads), v(20 * heads);
    std::vector<int32_t> kMost(20), vMost(20), alone(20);
    readScales(p.context,
               {.pool = p.bytes.data(),
                .fmt = f,
                .slots = p.slots.data(),
                .n = 20,
                .k = k.data(),
                .v = v.data(),
                .kAtMax = kMost.data(),
                .vAtMax = vMost.data()});
    readScales(p.context, {.pool = p.bytes.data(), .fmt = f, .slots = p.slots.data(), .n = 20, .vAtMax = alone.data()});
    const auto check = [&](DType t, const std::vector<float>& x, const std::vector<float>& scales,
                           const std::vector<int32_t>& most) {
      for (size_t row = 0; row < 20; ++row) {
        int64_t wanted = 0;
        for (size_t head = 0; head < heads; ++head) {
          if (!dtypeHasScale(t)) {
            QCOMPARE(scales[row * heads + head], 1.0f);
            continue;
          }
          const QuantHead one(x.data() + (row * heads + head) * static_cast<size_t>(f.headDim), f.headDim, t);
          QCOMPARE(scales[row * heads + head], one.scale);
          for (const uint8_t code : one.codes)
            wanted += std::fabs(codeMeans(code, t)) == (t == DType::i8 ? 127.0f : 448.0f);
        }
        QCOMPARE(int64_t{most[row]}, wanted);
      }
    };
    check(f.k, p.k, k, kMost);
    check(f.v, p.v, v, vMost);
    QVERIFY(alone == vMost);
  }
}

void QuantRowsTest::movedRecordsKeepTheirScales() {
  Pool p({3, 24, DType::i8, DType::fp8e4m3}, 12);
  const auto scalesAt = [&](int32_t slot) {
    std::vector<float> k(3), v(3);
    readScales(p.context, {.pool = p.bytes.data(), .fmt = p.fmt, .slots = &slot, .n = 1, .k = k.data(), .v = v.data()});
    k.insert(k.end(), v.begin(), v.end());
    return k;
  };
  const int32_t from = p.slots[4];
  int32_t to = 0;  // a free slot
  while (std::find(p.slots.begin(), p.slots.end(), to) != p.slots.end()) ++to;
  const std::vector<float> before = scalesAt(from);
  const RowMove move{from, to, 1};
  moveRows(p.context, {.fromPool = p.bytes.data(), .toPool = p.bytes.data(), .fmt = p.fmt, .moves = &move, .n = 1});
  QVERIFY(sameBits(scalesAt(to), before));
  p.slots[4] = to;
  QCOMPARE(p.bad(), 0);
}

void QuantRowsTest::flippedBitsOfScalesAreFound() {
  Pool p({2, 16, DType::i8, DType::f16}, 4);
  for (int bit = 0; bit < 64; ++bit) {
    uint8_t& byte = p.record(p.slots[3])[p.layout.kScales + bit / 8];
    byte ^= static_cast<uint8_t>(1 << bit % 8);
    std::vector<uint8_t> verdicts;
    QCOMPARE(p.bad(&verdicts), 1);
    QCOMPARE(int{verdicts[3]}, kRowBadChecksum | kRowBadTag);
    byte ^= static_cast<uint8_t>(1 << bit % 8);
  }
  QCOMPARE(p.bad(), 0);
}

void QuantRowsTest::attentionReadsWhatRowsMean_data() {
  QTest::addColumn<int>("k");
  QTest::addColumn<int>("v");
  for (const DType k : kRowTypes)
    for (const DType v : kRowTypes)
      if (dtypeHasScale(k) || dtypeHasScale(v))
        QTest::addRow("%s %s", dtypeName(k), dtypeName(v)) << static_cast<int>(k) << static_cast<int>(v);
}

void QuantRowsTest::attentionReadsWhatRowsMean() {
  QFETCH(int, k);
  QFETCH(int, v);
  for (const Shape& shape : {Shape{4, 2, 24},
                             {6, 2, 64},
                             {3, 3, 128},
                             {5, 1, 48},
                             {2, 2, 40},
                             {3, 1, 256},
                             {4, 4, 32},
                             {6, 2, 12},
                             {4, 2, 21},
                             {3, 3, 66}}) {
    Scene s(shape, 150);
    s.fmt.k = static_cast<DType>(k);
    s.fmt.v = static_cast<DType>(v);
    s.write();
    Scene plain = meant(s);
    for (const bool rotated : {false, true}) {
      s.rotated = plain.rotated = rotated;
      for (const auto& [q0, q1] : {std::pair<int64_t, int64_t>{149, 150}, {63, 64}, {60, 63}, {0, 150}})
        QVERIFY2(sameBits(run(slice(s.args(), q0, q1), 2), run(slice(plain.args(), q0, q1))),
                 qPrintable(QString("%1/%2 heads of %3, queries %4..%5")
                                .arg(shape.queryHeads)
                                .arg(shape.kvHeads)
                                .arg(shape.headDim)
                                .arg(q0)
                                .arg(q1)));
    }
  }
}

void QuantRowsTest::selfRowsAndMasses() {
  for (const auto& [k, v] :
       {std::pair{DType::i8, DType::i8}, {DType::f16, DType::fp8e4m3}, {DType::fp8e4m3, DType::bf16}}) {
    Scene s({6, 2, 64}, 130);
    s.fmt.k = k;
    s.fmt.v = v;
    s.write();
    const Scene plain = meant(s);
    std::vector<int32_t> before(s.end);
    for (int32_t& e : before) --e;
    std::vector<std::vector<float>> seen[2];
    for (const Scene* one : {&std::as_const(s), &plain})
      for (const auto& [q0, q1] : {std::pair<int64_t, int64_t>{129, 130}, {100, 130}}) {
        std::vector<float> newest(131), perHead(6 * 131), received(131, 0.5f);
        AttentionArgs a = slice(one->args(), q0, q1);
        a.rowEnd = before.data() + q0;
        a.selfSlot = one->slots.data() + q0;
        a.selfPhaseIndex = one->phases.data() + q0;
        a.mass.newest = newest.data();
        a.mass.newestPerHead = perHead.data();
        a.mass.received = received.data();
        for (const auto& each : {run(a), newest, perHead, received}) seen[one == &plain].push_back(each);
        QVERIFY(newest[130] > 0);
      }
    for (size_t i = 0; i < seen[0].size(); ++i)
      QVERIFY2(sameBits(seen[0][i], seen[1][i]), qPrintable(QString::number(i)));
  }
}

void QuantRowsTest::instructionSetsAgree() {
  for (const RowFormat& f : {RowFormat{2, 64, DType::i8, DType::fp8e4m3},
                             {2, 24, DType::fp8e4m3, DType::i8},
                             {2, 20, DType::fp8e4m3, DType::i8},
                             {2, 13, DType::i8, DType::fp8e4m3},
                             {1, 128, DType::i8, DType::i8}}) {
    std::vector<uint8_t> pool;
    std::vector<float> out;
    for (const int64_t target : fusedTargets()) {
      const OnTarget only(target);
      Scene s({4, f.kvHeads, f.headDim}, 100);
      s.fmt = f;
      s.write();
      const std::vector<float> all = run(s.args()), one = run(slice(s.args(), 99, 100));  // copied; read in place
      if (pool.empty()) pool = s.pool, out = one;
      QVERIFY2(pool == s.pool && sameBits(out, one) && sameBits(all.data() + 99 * s.width(), one.data(), s.width()),
               hwy::TargetName(target));
    }
  }
}

KV_TEST(QuantRowsTest)
#include "quant_rows_test.moc"
