// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/matmul.h"
#include "kernels/numerics.h"
#include "kernels/thread_pool.h"
#include "support.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

class MatmulTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void closeToDouble_data();
  void closeToDouble();
  void equalsTheScalarModel();
  void rowsDoNotDependOnTheirNumber();
  void threadsChangeNothing();
  void targetsAgree();
  void readsUnalignedWeights();
  void leavesTheRestAlone();
};

namespace {

/// Type of the weights, and whether x meets them in pairs of bf16.
struct Kind {
  DType type;
  bool pairs = false;
  QString name() const { return QString(dtypeName(type)) + (pairs ? " in pairs" : ""); }
};

struct Problem {
  int64_t m, n, k;
  std::vector<float> x, xRead, w, wRead, bias, scales;
  std::vector<uint8_t> bytes;
  Kind kind;

  Problem(int64_t m_, int64_t n_, int64_t k_, Kind kind_) : m(m_), n(n_), k(k_), kind(kind_) {
    Random r(static_cast<uint64_t>(m * 131 + n * 17 + k));
    x = r.values(m * k);
    w = r.values(n * k);
    bias = r.values(n);
    bytes = encode(w, kind.type, &wRead);
    if (kind.type == DType::i8) scales = r.values(n);
    xRead = x;
    if (kind.pairs) encode(x, DType::bf16, &xRead);
  }

  MatmulArgs args(float* y) const {
    return {
        .x = x.data(), .w = {bytes.data(), kind.type, scales.empty() ? nullptr : scales.data(), n, k}, .y = y, .m = m};
  }
  void multiply(ThreadPool& pool, const MatmulArgs& a) const {
    kind.pairs ? matmulBf16({&pool}, a) : matmul({&pool}, a);
  }

  std::vector<float> run(int threads, bool withBias = false) const {
    ThreadPool pool(threads);
    std::vector<float> y(static_cast<size_t>(m * n), NAN);
    MatmulArgs a = args(y.data());
    if (withBias) a.bias = bias.data();
    multiply(pool, a);
    return y;
  }

  std::vector<double> reference(bool withBias) const {
    std::vector<double> y;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum += double{xRead[static_cast<size_t>(i * k + p)]} * double{wRead[static_cast<size_t>(j * k + p)]};
        if (!scales.empty()) sum *= double{scales[static_cast<size_t>(j)]};
        y.push_back(withBias ? sum + double{bias[static_cast<size_t>(j)]} : sum);
      }
    }
    return y;
  }
};

constexpr Kind kKinds[] = {{DType::f32}, {DType::f16}, {DType::bf16}, {DType::bf16, true}, {DType::i8}};

}  // namespace

void MatmulTest::closeToDouble_data() {
  QTest::addColumn<qint64>("m");
  QTest::addColumn<qint64>("n");
  QTest::addColumn<qint64>("k");
  for (const qint64 m : {1, 2, 3, 4, 5, 7, 48, 61}) {
    for (const auto& [n, k] : {std::pair<qint64, qint64>{1, 16}, {7, 5}, {64, 128}, {53, 1030}, {97, 527}}) {
      QTest::addRow("%lld x %lld x %lld", m, n, k) << m << n << k;
    }
  }
}

void MatmulTest::closeToDouble() {
  QFETCH(qint64, m);
  QFETCH(qint64, n);
  QFETCH(qint64, k);
  for (const Kind& t : kKinds) {
    const Problem p(m, n, k, t);
    for (const bool bias : {false, true}) {
      const double error = relativeError(p.run(1, bias), p.reference(bias));
      QVERIFY2(error < 1e-6, qPrintable(QString("%1: relative error %2, tolerance 1e-6").arg(t.name()).arg(error)));
    }
  }
}

void MatmulTest::equalsTheScalarModel() {
  if (QByteArray(numericsId()) != "portable-fma") QSKIP("no fused multiply-add here");
  for (const Kind& t : kKinds) {
    for (const int64_t m : {1, 2, 3, 4, 5, 50}) {
      const Problem p(m, 51, 533, t);
      const std::vector<float> y = p.run(2);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < p.n; ++j) {
          const float sum =
              (t.pairs ? modelPairDot : modelDot)(p.xRead.data() + i * p.k, p.wRead.data() + j * p.k, p.k);
          QCOMPARE(std::bit_cast<uint32_t>(y[static_cast<size_t>(i * p.n + j)]),
                   std::bit_cast<uint32_t>(sum * (p.scales.empty() ? 1.0f : p.scales[static_cast<size_t>(j)])));
        }
      }
    }
  }
}

void MatmulTest::rowsDoNotDependOnTheirNumber() {
  for (const Kind& t : kKinds) {
    const Problem p(101, 67, 1111, t);
    const std::vector<float> whole = p.run(1, true);
    for (const int64_t rows : {1, 2, 3, 4, 5, 6, 9, 47, 49}) {
      ThreadPool pool(1);
      for (int64_t i = 0; i < p.m; i += rows) {
        const int64_t count = std::min(rows, p.m - i);
        std::vector<float> y(static_cast<size_t>(count * p.n));
        MatmulArgs a = p.args(y.data());
        a.x += i * p.k;
        a.m = count;
        a.bias = p.bias.data();
        p.multiply(pool, a);
        QVERIFY2(sameBits(y.data(), whole.data() + i * p.n, count * p.n),
                 qPrintable(QString("%1 rows from %2").arg(rows).arg(i)));
      }
    }
  }
}

void MatmulTest::threadsChangeNothing() {
  for (const bool pairs : {false, true}) {
    for (const int64_t m : {1, 4, 70}) {
      const Problem p(m, 900, 700, {DType::bf16, pairs});
      const std::vector<float> one = p.run(1);
      QVERIFY(sameBits(one, p.run(2)));
      QVERIFY(sameBits(one, p.run(4)));
    }
  }
}

void MatmulTest::targetsAgree() {
  for (const Kind& t : kKinds) {
    for (const int64_t m : {1, 3, 11}) {
      const Problem p(m, 29, 700, t);
      std::vector<float> first;
      for (const int64_t target : fusedTargets()) {
        const OnTarget only(target);
        QCOMPARE(numericsId(), "portable-fma");
        const std::vector<float> y = p.run(1);
        if (first.empty()) first = y;
        QVERIFY2(sameBits(first, y), hwy::TargetName(target));
      }
    }
  }
}

void MatmulTest::readsUnalignedWeights() {
  for (const Kind& t : kKinds) {
    for (const int64_t m : {2, 9}) {
      const Problem p(m, 13, 77, t);
      std::vector<uint8_t> shifted(p.bytes.size() + 2);
      std::copy(p.bytes.begin(), p.bytes.end(), shifted.begin() + 2);
      std::vector<float> y(static_cast<size_t>(m * 13));
      MatmulArgs a = p.args(y.data());
      a.w.data = shifted.data() + 2;
      ThreadPool pool(1);
      p.multiply(pool, a);
      QVERIFY(sameBits(y, p.run(1)));
    }
  }
}

void MatmulTest::leavesTheRestAlone() {
  for (const Kind& kind : kKinds) {
    for (const int64_t m : {3, 8}) {
      const Problem p(m, 10, 40, kind);
      std::vector<float> y(static_cast<size_t>(m * 12), 7.0f), x(static_cast<size_t>(m * 45), NAN);
      for (int64_t i = 0; i < m; ++i) std::copy_n(p.x.data() + i * 40, 40, x.data() + i * 45);
      MatmulArgs a = p.args(y.data());
      a.x = x.data();
      a.xStride = 45;
      a.yStride = 12;
      ThreadPool pool(1);
      p.multiply(pool, a);
      const std::vector<float> dense = p.run(1);
      for (int64_t i = 0; i < m; ++i) {
        QVERIFY(sameBits(y.data() + i * 12, dense.data() + i * 10, 10));
        QCOMPARE(y[static_cast<size_t>(i * 12 + 10)], 7.0f);
        QCOMPARE(y[static_cast<size_t>(i * 12 + 11)], 7.0f);
      }
    }
  }
}

KV_TEST(MatmulTest)
#include "matmul_test.moc"
