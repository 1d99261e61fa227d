// SPDX-License-Identifier: Apache-2.0
// Gates against f64, against matmul and relu one after another, rows, layers, threads and instruction sets.
#include "kernels/numerics.h"
#include "kernels/ops/op_bytes.h"
#include "kernels/thread_pool.h"
#include "support.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

namespace {

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16};

struct Gates {
  int64_t n;
  int32_t layers, heads, headDim, hidden;
  DType type;
  std::vector<float> x, bias[kGateStages], read[kGateStages];
  std::vector<uint8_t> bytes[kGateStages];

  Gates(int64_t n_, int32_t layers_, int32_t heads_, int32_t headDim_, int32_t hidden_, DType t)
      : n(n_), layers(layers_), heads(heads_), headDim(headDim_), hidden(hidden_), type(t) {
    Random r(static_cast<uint64_t>(n * 3 + headDim * 7 + hidden));
    x = r.values(layers * n * heads * headDim, 2);
    const GateMlpArgs a = args(nullptr);
    for (int s = 0; s < kGateStages; ++s) {
      bytes[s] = encode(r.values(a.gates() * a.w[s].n * a.w[s].k, 1.5f / std::sqrt(static_cast<float>(a.w[s].k))), t,
                        &read[s]);
      bias[s] = r.values(a.gates() * a.w[s].n, 0.3f);
    }
  }

  GateMlpArgs args(float* out) const {
    GateMlpArgs a{.x = x.data(), .n = n, .layers = layers, .kvHeads = heads, .out = out};
    for (int s = 0; s < kGateStages; ++s)
      a.w[s] = gateWeight(s, headDim, hidden, type, bytes[s].data()), a.b[s] = bias[s].data();
    return a;
  }

  std::vector<float> run(int threads = 1) const {
    ThreadPool pool(threads);
    std::vector<float> out(static_cast<size_t>(layers * n * heads), NAN);
    gateMlp({&pool}, args(out.data()));
    return out;
  }

  const float* row(int64_t layer, int64_t i, int64_t head) const {
    return x.data() + ((layer * n + i) * heads + head) * headDim;
  }

  /// One score, in any arithmetic.
  template <class Dot>
  auto score(int64_t layer, int64_t i, int64_t head, const Dot& dot) const {
    const GateMlpArgs a = args(nullptr);
    using Value = decltype(dot(nullptr, nullptr, 0));
    std::vector<Value> in(row(layer, i, head), row(layer, i, head) + headDim);
    for (int s = 0; s < kGateStages; ++s) {
      const int64_t gate = layer * heads + head, outputs = a.w[s].n;
      std::vector<Value> out;
      for (int64_t o = 0; o < outputs; ++o) {
        const int64_t at = gate * outputs + o;
        const Value y =
            dot(in.data(), read[s].data() + at * a.w[s].k, a.w[s].k) + Value{bias[s][static_cast<size_t>(at)]};
        out.push_back(s < kGateStages - 1 && y < 0 ? Value{0} : y);
      }
      in = std::move(out);
    }
    return in[0];
  }

  template <class Dot>
  auto scores(const Dot& dot) const {
    std::vector<decltype(dot(nullptr, nullptr, 0))> all;
    for (int64_t l = 0; l < layers; ++l)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t h = 0; h < heads; ++h) all.push_back(score(l, i, h, dot));
    return all;
  }
};

double exactDot(const double* x, const float* w, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < n; ++k) sum += x[k] * double{w[k]};
  return sum;
}

}  // namespace

class GateMlpTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void closeToDouble() {
    for (const DType t : kTypes)
      for (const int64_t n : {1, 3, 4, 5, 50})
        for (const auto& [headDim, hidden] : {std::pair{64, 256}, {24, 37}, {128, 100}, {8, 16}}) {
          const Gates g(n, 2, 3, headDim, hidden, t);
          const double error = relativeError(g.run(), g.scores(exactDot));
          QVERIFY2(error < 2e-6,
                   qPrintable(QString("%1, %2 rows, %3 -> %4: relative error %5, tolerance 2e-6")
                                  .arg(dtypeName(t))
                                  .arg(n)
                                  .arg(headDim)
                                  .arg(hidden)
                                  .arg(error)));
        }
  }

  void equalsTheScalarModel() {
    if (QByteArray(numericsId()) != "portable-fma") QSKIP("no fused multiply-add here");
    for (const DType t : kTypes)
      for (const int64_t n : {1, 2, 7}) {
        const Gates g(n, 2, 2, 40, 70, t);
        QVERIFY(sameBits(g.run(), g.scores(modelDot)));
      }
  }

  void rowsDoNotDependOnTheirNumber() {
    for (const DType t : kTypes) {
      const Gates g(101, 1, 2, 64, 80, t);
      const std::vector<float> whole = g.run();
      for (const int64_t rows : {1, 2, 3, 4, 5, 12, 49})
        for (int64_t i = 0; i < g.n; i += rows) {
          ThreadPool pool(1);
          const int64_t count = std::min(rows, g.n - i);
          std::vector<float> some(static_cast<size_t>(count * g.heads));
          GateMlpArgs a = g.args(some.data());
          a.x = g.row(0, i, 0);
          a.n = count;
          gateMlp({&pool}, a);
          QVERIFY2(sameBits(some.data(), whole.data() + i * g.heads, count * g.heads),
                   qPrintable(QString("%1 rows from %2").arg(rows).arg(i)));
        }
    }
  }

  void layersAndStrides() {
    const Gates g(5, 3, 2, 24, 40, DType::bf16);
    const std::vector<float> together = g.run();
    ThreadPool pool(1);
    std::vector<float> wide(3 * 5 * 7, -1.0f), apart = wide;
    GateMlpArgs a = g.args(wide.data());
    a.outStride = 7;
    gateMlp({&pool}, a);
    for (int layer = 0; layer < 3; ++layer) {
      GateMlpArgs one = g.args(apart.data() + layer * 35);
      one.x = g.row(layer, 0, 0);
      one.layers = 1;
      one.outStride = 7;
      for (int s = 0; s < kGateStages; ++s) {
        one.w[s].data = g.bytes[s].data() + layer * 2 * a.w[s].n * a.w[s].k * 2;
        one.b[s] = g.bias[s].data() + layer * 2 * a.w[s].n;
      }
      gateMlp({&pool}, one);
    }
    QVERIFY(sameBits(wide, apart));
    for (size_t i = 0; i < together.size(); ++i) QCOMPARE(wide[i / 2 * 7 + i % 2], together[i]);
    for (size_t i = 0; i < wide.size(); ++i) QVERIFY(i % 7 < 2 || wide[i] == -1.0f);
  }

  void threadsAndTargetsChangeNothing() {
    for (const DType t : kTypes)
      for (const int64_t n : {1, 4, 70}) {
        const Gates g(n, 2, 3, 64, 256, t);
        const std::vector<float> one = g.run();
        QVERIFY(sameBits(one, g.run(2)));
        QVERIFY(sameBits(one, g.run(5)));
        if (QByteArray(numericsId()) != "portable-fma") continue;
        for (const int64_t target : fusedTargets()) {
          const OnTarget only(target);
          QVERIFY(sameBits(one, g.run()));
        }
      }
  }

  void passesOnWhatIsNotANumber() {
    for (const int64_t n : {3, 9}) {
      Gates g(n, 1, 1, 16, 32, DType::f32);
      g.x[1] = NAN;
      g.x[16 + 2] = INFINITY;
      const std::vector<float> out = g.run();
      QVERIFY(std::isnan(out[0]));
      QVERIFY(!std::isfinite(out[1]));
      QVERIFY(std::isfinite(out[2]));
    }
  }

  void countsItsBytes() {
    const Gates g(2, 3, 4, 64, 256, DType::bf16);
    const int64_t weights = 64 * 256 + 2 * 256 * 256 + 256, biases = 3 * 256 + 1;
    QCOMPARE(opBytes(g.args(nullptr)), 12 * (2 * weights + 4 * biases) + 2 * 12 * 4 * (64 + 1));
  }
};

KV_TEST(GateMlpTest)
#include "gate_mlp_test.moc"
