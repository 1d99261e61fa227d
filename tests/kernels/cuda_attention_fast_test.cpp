// SPDX-License-Identifier: Apache-2.0
// Attention on tensor cores ("cuda-fast") on the emulated device: within the bound of kernels/cuda/linear/fast.h from
// the exact mode, and within the bound of f32 sums from the same with rounded inputs; the same bits in every call;
// calls that it does not take have the CPU's bits.
#include "cuda_attention_rig.h"
#include "kernels/cuda/attention/attention_index.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

namespace {

constexpr AttentionOp kFast = &CudaApi::attentionFast;

float rounded(float x, DType t) { return t == DType::f16 ? halfToFloat(floatToHalf(x)) : bf16ToFloat(floatToBf16(x)); }
double unit(DType t) { return t == DType::f16 ? 0x1p-11 : 0x1p-8; }

Scene sceneFor(const Shape& shape) {
  Scene s = sceneOf(shape, shape.type);
  s.shape.type = shape.type;
  return s;
}

/// The scene with queries and rotated keys as tensor cores get them.
Scene roundedScene(const Scene& s) {
  Scene r = s;
  const DType t = s.shape.type;
  for (float& x : r.queries) x = rounded(x, t);
  for (float& x : r.k) x = rounded(x, t);
  r.rotated = true;
  const auto d = static_cast<size_t>(s.shape.headDim), half = d / 2;
  for (size_t at = 0; !s.rotated && at < r.k.size(); at += d) {
    const float* table = &s.table[static_cast<size_t>(s.phases[at / d / static_cast<size_t>(s.shape.kvHeads)]) * d];
    for (size_t i = 0; i < half; ++i) {
      const float lo = r.k[at + i], hi = r.k[at + i + half];
      r.k[at + i] = rounded(std::fma(lo, table[i], -(hi * table[i + half])), t);
      r.k[at + i + half] = rounded(std::fma(hi, table[i], lo * table[i + half]), t);
    }
  }
  return r;
}

/// Reference values of a scene in f64, per query and query head.
struct Known {
  Reference all;
  std::vector<double> scoreSize;  ///< largest |scale| sum |q_i k_i|
  std::vector<double> valueSize;  ///< [.., headDim] sum p_j |v_j|

  explicit Known(const Scene& s) : all(s) {
    std::vector<float> k, v;
    encode(s.k, s.shape.type, &k);
    encode(s.v, s.shape.type, &v);
    const int64_t heads = s.shape.queryHeads, d = s.shape.headDim;
    for (int64_t row = 0; row < s.rows * heads; ++row) {
      const int64_t q = row / heads, kvHead = row % heads / (heads / s.shape.kvHeads);
      double size = 0;
      std::vector<double> values(static_cast<size_t>(d), 0.0);
      for (int64_t j = s.begin[static_cast<size_t>(q)]; j < s.end[static_cast<size_t>(q)]; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < d; ++i) {
          sum += std::abs(double{s.queries[static_cast<size_t>(row * d + i)]} * Reference::key(s, k, j, kvHead, i));
          values[static_cast<size_t>(i)] += all.mass[static_cast<size_t>(row * s.rows + j)] *
              std::abs(double{v[static_cast<size_t>((j * s.shape.kvHeads + kvHead) * d + i)]});
        }
        size = std::max(size, sum * std::abs(double{s.scale}));
      }
      scoreSize.push_back(size);
      valueSize.insert(valueSize.end(), values.begin(), values.end());
    }
  }
};

/// The allowed relative difference between probabilities and those in f64, if scores round with `u`.
double massBound(const Scene& s, double u, double scoreSize) {
  const double scores = (u + s.shape.headDim * 0x1p-22) * scoreSize;
  return std::exp(2 * scores) * (1 + (static_cast<double>(s.rows) + 2 * scoreSize) * 0x1p-22) - 1;
}

}  // namespace

class CudaAttentionFastTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    if (devices().empty()) QSKIP("no device");
  }

  void staysWithinItsBound_data() {
    QTest::addColumn<Shape>("shape");
    using enum DType;
    for (const Shape& s : {Shape{1, 1, 32, f16},
                           {3, 1, 48, bf16},
                           {4, 1, 64, f16},
                           {8, 1, 64, bf16},
                           {2, 2, 80, f16},
                           {6, 2, 96, bf16},
                           {3, 1, 128, f16},
                           {8, 2, 128, bf16},
                           {2, 1, 24, bf16},
                           {4, 4, 120, f16},
                           {70, 1, 16, bf16}})
      QTest::addRow("%d/%d heads of %d, %s", s.queryHeads, s.kvHeads, s.headDim, dtypeName(s.type)) << s;
  }

  void staysWithinItsBound() {
    QFETCH(const Shape, shape);
    Scene s = sceneFor(shape);
    const int first = shape.queryHeads > 64 ? 128 : 85;
    check(s, first, 150);
    s.rotated = true;
    check(s, first - 20, first);
  }

  void rangesOfEveryKind() {
    Scene s = sceneFor({4, 1, 32, DType::bf16});
    s.begin = {0, 0, 7, 60, 61, 62, 100, 140, 9, 3, 0, 149, 150, 64, 0, 20};
    s.end = {0, 4, 7, 61, 62, 126, 99, 150, 0, 150, 150, 150, 150, 128, 1, 21};
    s.begin.resize(150, 5);
    s.end.resize(150, 77);
    for (size_t q = 16; q < 150; ++q) s.begin[q % 37 ? q : 0] = static_cast<int32_t>(q * 31 % 140);
    for (const int64_t base : {0, 3, 127}) {
      s.base = base;
      check(s, 0, 40);
    }
    for (size_t q = 0; q < 150; ++q)
      s.begin[q] = q % 2 ? 140 : 2, s.end[q] = q % 2 ? 145 : 5;  // a block between them is nobody's
    check(s, 0, 20);
  }

  void largeScores() {
    Scene s = sceneFor({2, 1, 64, DType::f16});
    s.scale = -3.0f;
    check(s, 120, 150);
  }

  void massesAskedForOneByOne() {
    const Scene s = sceneFor({6, 2, 32, DType::f16});
    const Known exact(s), near(roundedScene(s));
    for (const int masses : {0, kNewest, kPerHead, kReceived, kHeads, kLast, kHeads | kLast | kNewest})
      check(s, slice(s.args(), 110, 130), 110, masses, exact, near);
  }

  /// Scratch is bounded, so queries with much to keep go one batch after the other.
  void batches() {
    Scene s = sceneFor({64, 1, 16, DType::bf16});
    AttentionArgs a = slice(s.args(), 128, 150);
    s.slots.resize(100000, 0);
    s.phases.resize(100000, 0);
    a.slots = s.slots.data();
    a.phaseIndex = s.phases.data();
    a.rows = 100000;
    a.mass.received = s.table.data();  // only asked whether it is there
    QVERIFY(cuda::queriesPerBatch(a) < 22);
    a.mass.received = nullptr;
    check(s, a, 128, kAllMasses, Known(s), Known(roundedScene(s)));
  }

  void aRowHasTheSameBitsInEveryCall() {
    const Scene s = sceneFor({3, 1, 80, DType::bf16});
    for (const TestDevice& where : devices()) {
      Placed placed(s, where);
      const Outputs all = placed.run(slice(s.args(), 60, 120), 0, kFast),
                    again = placed.run(slice(s.args(), 60, 120), 0, kFast);
      QVERIFY(same(all.out, again.out));
      const Outputs last = placed.run(slice(s.args(), 97, 120), kAllMasses, kFast);
      QVERIFY(
          std::equal(last.out.begin(), last.out.end(), all.out.end() - static_cast<std::ptrdiff_t>(last.out.size())));
    }
  }

  void strides() {
    const Scene s = sceneFor({2, 1, 40, DType::f16});
    std::vector<float> spread(150 * 83, NAN);
    for (size_t q = 0; q < 150; ++q)
      std::copy_n(s.queries.begin() + static_cast<std::ptrdiff_t>(q * 80), 80,
                  spread.begin() + static_cast<std::ptrdiff_t>(q * 83));
    const AttentionArgs a = slice(s.args(), 0, 40);
    AttentionArgs wide = a;
    wide.queries = spread.data();
    wide.queryStride = 83;
    wide.outStride = 85;
    for (const TestDevice& where : devices()) {
      Placed placed(s, where);
      const Outputs dense = placed.run(a, 0, kFast), got = placed.run(wide, 0, kFast);
      for (std::ptrdiff_t q = 0; q < 40; ++q)
        QVERIFY(std::equal(dense.out.begin() + 80 * q, dense.out.begin() + 80 * (q + 1), got.out.begin() + 85 * q));
    }
  }

  void whatIsNoNumberStaysWithThoseWhoSeeIt() {
    Scene s = sceneFor({4, 2, 32, DType::bf16});
    std::swap(s.slots[128], *std::find(s.slots.begin(), s.slots.end(), 0));
    s.write();
    Scene hurt = s;
    hurt.k[90 * 64 + 5] = NAN;
    hurt.v[128 * 64 + 5] = NAN;  // nobody sees it, and its slot is 0
    hurt.queries[70 * 128 + 3] = NAN;
    hurt.write();
    for (const TestDevice& where : devices()) {
      Placed placed(s, where), broken(hurt, where);
      const Outputs want = placed.run(slice(s.args(), 60, 110), 0, kFast),
                    got = broken.run(slice(hurt.args(), 60, 110), 0, kFast);
      for (size_t at = 0; at < want.out.size(); ++at) {
        const size_t q = 60 + at / 128, head = at % 128 / 32;
        const bool sees = (s.begin[q] <= 90 && s.end[q] > 90 && head < 2) || (q == 70 && head == 0);
        QVERIFY2(sees ? std::isnan(got.out[at]) : got.out[at] == want.out[at],
                 qPrintable(QString("query %1 head %2").arg(q).arg(head)));
      }
    }
  }

  void badSlotsAreTold() {
    Scene s = sceneFor({2, 1, 32, DType::bf16}), bad = s;
    s.slots[80] = 0;
    bad.slots[80] = 151;
    for (const TestDevice& where : devices()) {
      CudaBoundsReport report;
      QCOMPARE(where.api->takeBoundsReport(&report), 0);
      if (report.violations < 0) continue;
      const Outputs got = Placed(bad, where).run(slice(s.args(), 70, 100), 0, kFast);
      QVERIFY(same(got.out, Placed(s, where).run(slice(s.args(), 70, 100), 0, kFast).out));
      QCOMPARE(where.api->takeBoundsReport(&report), 0);
      QVERIFY2(report.violations > 0 &&
                   QByteArray(report.text)
                       .contains("attention, block 0, 0, 0, thread 80, 0, 0: slot 151 is outside of [0, 151)"),
               report.text);
    }
  }

  void whatIsNotForItIsExact() {
    using enum DType;
    const auto isExact = [](const Scene& s, const AttentionArgs& a) {
      for (const TestDevice& where : devices()) {
        const QString different = Placed(s, where).differs(a, kAllMasses, kFast);
        QVERIFY2(different.isEmpty(), qPrintable(different));
      }
    };
    for (const auto& [d, k, v] : {std::tuple{32, f32, f32},
                                  {32, f16, bf16},
                                  {32, bf16, f32},
                                  {32, f16, i8},
                                  {32, fp8e4m3, fp8e4m3},
                                  {136, bf16, bf16}}) {
      const Scene s = sceneOf(2, 1, d, k, v);
      isExact(s, slice(s.args(), 70, 100));
    }
    const Scene s = sceneOf(2, 1, 32, bf16, bf16);
    isExact(s, slice(s.args(), 70, 70 + cuda::kSplitQueries));
    AttentionArgs a = slice(s.args(), 70, 100);
    const std::vector<int32_t> none(30, -1);
    a.selfSlot = none.data();
    a.selfPhaseIndex = s.phases.data();
    isExact(s, a);
  }

 private:
  static const std::vector<TestDevice>& devices() {
    static const std::vector<TestDevice> all = testDevices();
    return all;
  }

  void check(const Scene& s, int q0, int q1) {
    check(s, slice(s.args(), q0, q1), q0, kAllMasses, Known(s), Known(roundedScene(s)));
  }

  /// Queries of the scene from q0 on, on every device, which give equal bits.
  void check(const Scene& s, const AttentionArgs& a, int64_t q0, int masses, const Known& exact, const Known& near) {
    const Outputs det = onCpu(a, masses);
    std::vector<Outputs> got;
    for (const TestDevice& where : devices()) got.push_back(Placed(s, where).run(a, masses, kFast));
    for (const Outputs& o : got) {
      checkOutputs(s, a, q0, o, det, exact, near);
      checkMasses(s, a, q0, o, near);
    }
    const Outputs &one = got.front(), &two = got[devices().size() > 1 ? 1 : 0];
    QVERIFY(same(one.out, two.out) && same(one.newest, two.newest) && same(one.perHead, two.perHead) &&
            same(one.received, two.received) && same(one.heads, two.heads) && one.last == two.last);
  }

  void checkOutputs(const Scene& s, const AttentionArgs& a, int64_t q0, const Outputs& o, const Outputs& det,
                    const Known& exact, const Known& near) {
    const double u = unit(s.shape.type), ofScores = s.rotated ? u : 2 * u + u * u,
                 small = s.shape.type == DType::f16 ? static_cast<double>(s.rows) * 0x1p-24 : 0;
    const auto d = static_cast<size_t>(s.shape.headDim);
    bool apart = false;
    for (size_t at = 0; at < o.out.size(); ++at) {
      const size_t row = static_cast<size_t>(q0 * a.queryHeads) + at / d, place = row * d + at % d;
      const double bound =
          ((1 + massBound(s, ofScores, exact.scoreSize[row])) * (1 + u) - 1) * exact.valueSize[place] + small;
      const double tight = ((1 + massBound(s, 0, near.scoreSize[row])) * (1 + u) - 1) * near.valueSize[place] + small;
      const double fromExact = std::abs(double{o.out[at]} - double{det.out[at]}),
                   fromNear = std::abs(double{o.out[at]} - near.all.out[place]);
      const QString where = QString("query %1 value %2: %3 exact %4 near %5")
                                .arg(q0 + int64_t(at / d) / a.queryHeads)
                                .arg(at % d)
                                .arg(double{o.out[at]})
                                .arg(double{det.out[at]})
                                .arg(near.all.out[place]);
      QVERIFY2(fromExact <= bound, qPrintable(where + QString(", bound %1").arg(bound)));
      QVERIFY2(fromNear <= tight, qPrintable(where + QString(", tight %1").arg(tight)));
      apart = apart || o.out[at] != det.out[at];
    }
    QVERIFY(apart);
  }

  void checkMasses(const Scene& s, const AttentionArgs& a, int64_t q0, const Outputs& o, const Known& near) {
    const int64_t heads = a.queryHeads, list = a.rows + 1, group = heads / a.fmt.kvHeads;
    const auto mass = [&](int64_t q, int64_t h, int64_t row) {
      return near.all.mass[static_cast<size_t>(((q0 + q) * heads + h) * s.rows + row)];
    };
    const auto bound = [&](int64_t q, int64_t h) {
      return massBound(s, 0, near.scoreSize[static_cast<size_t>((q0 + q) * heads + h)]);
    };
    const auto near1 = [](float value, double want, double apart) {
      return std::abs(double{value} - want) <= apart + 1e-5 * want + 1e-30;
    };
    for (int64_t row = 0; row < s.rows; ++row) {
      double newest = 0, newestApart = 0, received = 0, receivedApart = 0;
      for (int64_t h = 0; h < heads; ++h) {
        const double last = mass(a.nQueries - 1, h, row), lastApart = last * bound(a.nQueries - 1, h);
        newest += last / static_cast<double>(heads), newestApart += lastApart / static_cast<double>(heads);
        if (!o.perHead.empty()) QVERIFY(near1(o.perHead[static_cast<size_t>(h * list + row)], last, lastApart));
        double all = 0, apart = 0;
        for (int64_t q = 0; q < a.nQueries; ++q) all += mass(q, h, row), apart += mass(q, h, row) * bound(q, h);
        received += all / static_cast<double>(heads), receivedApart += apart / static_cast<double>(heads);
        if (!o.heads.empty()) QVERIFY(near1(o.heads[static_cast<size_t>(h * list + row)], 0.5 + all, apart));
      }
      if (!o.newest.empty()) QVERIFY(near1(o.newest[static_cast<size_t>(row)], newest, newestApart));
      if (!o.received.empty()) QVERIFY(near1(o.received[static_cast<size_t>(row)], 0.25 + received, receivedApart));
      for (int64_t kvHead = 0; !o.last.empty() && kvHead < a.fmt.kvHeads; ++kvHead) {
        int32_t least = 3, most = 3;  // index of the last query surely above, possibly above
        for (int64_t q = 0; q < a.nQueries; ++q)
          for (int64_t h = kvHead * group; h < (kvHead + 1) * group; ++h) {
            const double p = mass(q, h, row), apart = p * bound(q, h), threshold = double{0.02f};
            if (p - apart > threshold) least = std::max(least, o.index[static_cast<size_t>(q)]);
            if (p + apart > threshold) most = std::max(most, o.index[static_cast<size_t>(q)]);
          }
        const int32_t last = o.last[static_cast<size_t>(kvHead * list + row)];
        QVERIFY(last >= least && last <= most);
      }
    }
    if (!o.newest.empty()) QVERIFY(o.newest.back() == 0.0f);
  }
};

KV_TEST(CudaAttentionFastTest)
#include "cuda_attention_fast_test.moc"
