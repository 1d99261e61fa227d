// SPDX-License-Identifier: Apache-2.0
// A linear step gives the bits of its single ops one after another: norm, matrices that share the input,
// residual and gate, also if the output overlaps an input that it may overlap.
#include "kernels/ops/op_bytes.h"
#include "kernels/thread_pool.h"
#include "support.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

namespace {

using Values = std::vector<float>;

struct LinearScene {
  int64_t m, k, n[3];
  DType type;
  ThreadPool pool{2};
  Context context{&pool};
  Values x, residual, bias[3];
  std::vector<uint8_t> norm, w[3];

  LinearScene(int64_t m_, int64_t k_, std::initializer_list<int64_t> sizes, DType t) : m(m_), k(k_), type(t) {
    Random r(static_cast<uint64_t>(m * 7 + k));
    std::copy(sizes.begin(), sizes.end(), n);
    x = r.values(m * k);
    norm = encode(r.values(k), t, nullptr);
    for (size_t i = 0; i < sizes.size(); ++i) {
      w[i] = encode(r.values(n[i] * k), t, nullptr);
      bias[i] = r.values(n[i]);
    }
    residual = r.values(m * n[0]);
  }

  static Values room(int64_t values) { return Values(static_cast<size_t>(values), NAN); }

  Values normed() {
    Values y = room(m * k);
    rmsnorm(
        context,
        {.x = x.data(), .weight = norm.data(), .weightType = type, .y = y.data(), .rows = m, .dim = k, .eps = 1e-5f});
    return y;
  }
  Weight weight(size_t i) const { return {.data = w[i].data(), .type = type, .n = n[i], .k = k}; }
  Values product(const Values& from, size_t i, bool withBias) {
    Values y = room(m * n[i]);
    matmul(context,
           {.x = from.data(), .w = weight(i), .bias = withBias ? bias[i].data() : nullptr, .y = y.data(), .m = m});
    return y;
  }
  LinearArgs args(Values* normScratch) {
    LinearArgs a;
    a.x = x.data();
    a.m = m;
    if (!normScratch) return a;
    *normScratch = room(m * k);
    a.normWeight = norm.data();
    a.normType = type;
    a.normed = normScratch->data();
    return a;
  }
  void part(LinearArgs& a, size_t i, bool withBias, Values& y) {
    y = room(m * n[i]);
    a.parts[a.nParts++] = {weight(i), withBias ? bias[i].data() : nullptr, y.data()};
  }
};

}  // namespace

class LinearTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void equalsItsSteps_data() {
    QTest::addColumn<int>("m");
    QTest::addColumn<int>("k");
    QTest::addColumn<int>("type");
    for (const DType t : {DType::f32, DType::f16, DType::bf16})
      for (const int m : {1, 2, 9})
        for (const int k : {64, 72}) QTest::addRow("%s %d x %d", dtypeName(t), m, k) << m << k << static_cast<int>(t);
  }

  void equalsItsSteps() {
    QFETCH(int, m);
    QFETCH(int, k);
    QFETCH(int, type);
    const auto t = static_cast<DType>(type);
    LinearScene s(m, k, {40, 24, 16}, t);
    Values scratch, y[3];

    LinearArgs three = s.args(&scratch);
    for (size_t i = 0; i < 3; ++i) s.part(three, i, i != 1, y[i]);
    linear(s.context, three);
    for (size_t i = 0; i < 3; ++i) QVERIFY(sameBits(y[i], s.product(s.normed(), i, i != 1)));

    LinearArgs plain = s.args(nullptr);
    s.part(plain, 1, false, y[1]);
    linear(s.context, plain);
    QVERIFY(sameBits(y[1], s.product(s.x, 1, false)));

    LinearArgs over = s.args(nullptr);
    Values sum = s.residual, wanted = s.product(s.x, 0, true);
    s.part(over, 0, true, y[0]);
    over.residual = over.out = sum.data();
    linear(s.context, over);
    add(s.context, {s.residual.data(), wanted.data(), wanted.data(), m * s.n[0]});
    QVERIFY(sameBits(sum, wanted));
  }

  void gates() {
    LinearScene s(3, 48, {56, 56}, DType::bf16);
    Values scratch, y[2];
    LinearArgs a = s.args(&scratch);
    s.part(a, 0, false, y[0]);
    s.part(a, 1, false, y[1]);
    a.out = y[0].data();
    linear(s.context, a);
    Values gate = s.product(s.normed(), 0, false), up = s.product(s.normed(), 1, false);
    swiglu(s.context, {.gate = gate.data(), .up = up.data(), .out = gate.data(), .rows = 3, .dim = 56});
    QVERIFY(sameBits(y[0], gate));
  }

  void countsItsBytes() {
    LinearScene s(3, 48, {56, 20}, DType::bf16);
    Values scratch, y[2];
    LinearArgs a = s.args(&scratch);
    s.part(a, 0, true, y[0]);
    s.part(a, 1, false, y[1]);
    QCOMPARE(weightBytes(a), 2 * 48 + 2 * 48 * (56 + 20) + 4 * 56);
    QCOMPARE(opBytes(a), weightBytes(a) + 4 * 3 * (48 + 56 + 20));
  }
};

KV_TEST(LinearTest)
#include "linear_test.moc"
