// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "kernels/ops/op_table.h"
#include "kernels/thread_pool.h"
#include "support.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

class PointwiseTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void expIsAccurate();
  void softmaxSumsToOne();
  void swigluIsAccurate();
  void geluIsAccurate();
  void clampedSiluIsAccurate();
  void softcapIsAccurate();
  void reorderMovesValues();
  void rmsnormIsAccurate();
  void ropeRotatesHalves();
  void embeddingGathers();
  void targetsAgree();
  void argmaxAndTopk();
  void tableIsComplete();
};

namespace {

/// Distance in units of the last place of the exact value.
double ulps(float got, double want) {
  const double unit = std::ldexp(1.0, std::max(-126, std::ilogb(want)) - 23);
  return std::fabs(double{got} - want) / unit;
}

std::vector<float> softmaxOf(std::vector<float> x, float scale = 1.0f) {
  ThreadPool pool(1);
  softmax({&pool}, {.x = x.data(), .n = static_cast<int64_t>(x.size()), .scale = scale, .out = x.data()});
  return x;
}

std::vector<float> swigluOf(const std::vector<float>& g, const std::vector<float>& u,
                            GateFunction function = GateFunction::silu) {
  ThreadPool pool(1);
  std::vector<float> out(g.size());
  swiglu({&pool},
         {.gate = g.data(),
          .up = u.data(),
          .out = out.data(),
          .rows = 1,
          .dim = static_cast<int64_t>(g.size()),
          .function = function});
  return out;
}

}  // namespace

/// With one value at 0 and the other at x, softmax gives e^x / (1 + e^x); below -17 that is e^x.
void PointwiseTest::expIsAccurate() {
  double worst = 0;
  for (double x = -87.3; x < -17.5; x += 0.00371) {
    const auto f = static_cast<float>(x);
    worst = std::max(worst, ulps(softmaxOf({0.0f, f})[1], std::exp(double{f})));
  }
  QVERIFY2(worst < 1.5, qPrintable(QString("%1 ulp, tolerance 1.5").arg(worst)));
  QCOMPARE(softmaxOf({0.0f, -88.0f})[1], 0.0f);
  QCOMPARE(softmaxOf({0.0f, -INFINITY})[1], 0.0f);
  QVERIFY(std::isnan(softmaxOf({0.0f, NAN})[1]));
}

void PointwiseTest::softmaxSumsToOne() {
  Random r(3);
  for (const int64_t n : {1, 5, 16, 100, 32000}) {
    const std::vector<float> x = r.values(n, 20), p = softmaxOf(x, 0.5f);
    const double largest = double{*std::max_element(x.begin(), x.end())};
    double sum = 0, worst = 0;
    for (float v : x) sum += std::exp((double{v} - largest) * 0.5);
    for (size_t i = 0; i < x.size(); ++i) {
      worst = std::max(worst, std::fabs(double{p[i]} / (std::exp((double{x[i]} - largest) * 0.5) / sum) - 1));
    }
    // Arguments reach 20, where f32 is spaced 2e-6.
    QVERIFY2(worst < 4e-6, qPrintable(QString("relative error %1, tolerance 4e-6").arg(worst)));
  }
}

void PointwiseTest::swigluIsAccurate() {
  std::vector<float> g, u;
  for (float x = -120; x < 120; x += 0.0137f) g.push_back(x);
  u.assign(g.size(), 1.25f);
  const std::vector<float> y = swigluOf(g, u);
  double worst = 0;
  QVERIFY(std::fabs(y[0]) < 1e-35f);
  for (size_t i = 0; i < g.size(); ++i) {
    if (g[i] < -86) continue;
    const double want = double{g[i]} / (1 + std::exp(-double{g[i]})) * 1.25;
    worst = std::max(worst, std::fabs(double{y[i]} - want) / std::fabs(want));
  }
  QVERIFY2(worst < 5e-7, qPrintable(QString("relative error %1, tolerance 5e-7").arg(worst)));
}

/// Against the form with tanh, whose own f32 value loses digits far below 0.
void PointwiseTest::geluIsAccurate() {
  std::vector<float> g, u;
  for (float x = -6; x < 60; x += 0.00713f) g.push_back(x);
  u.assign(g.size(), 1.25f);
  const std::vector<float> y = swigluOf(g, u, GateFunction::geluTanh);
  double worst = 0;
  for (size_t i = 0; i < g.size(); ++i) {
    const double x = g[i], inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    const double want = 0.5 * x * (1 + std::tanh(inner)) * 1.25;
    worst = std::max(worst, std::fabs(double{y[i]} - want));
  }
  QVERIFY2(worst < 8e-6, qPrintable(QString("error %1, tolerance 8e-6").arg(worst)));  // for values up to 75
}

void PointwiseTest::clampedSiluIsAccurate() {
  std::vector<float> g, u;
  for (float x = -40; x < 20; x += 0.00713f) g.push_back(x), u.push_back(9.0f * std::sin(x));
  const std::vector<float> y = swigluOf(g, u, GateFunction::clampedSilu);
  double worst = 0;
  for (size_t i = 0; i < g.size(); ++i) {
    const double gate = std::min(double{g[i]}, 7.0), up = std::clamp(double{u[i]}, -7.0, 7.0);
    const double want = gate / (1 + std::exp(-double{1.702f} * gate)) * (up + 1);
    worst = std::max(worst, std::fabs(double{y[i]} - want) / (std::fabs(want) + 1e-6));
  }
  QVERIFY2(worst < 5e-6, qPrintable(QString("relative error %1, tolerance 5e-6").arg(worst)));
}

void PointwiseTest::softcapIsAccurate() {
  ThreadPool pool(2);
  std::vector<float> x, y;
  for (float value = -300; value < 300; value += 0.0137f) x.push_back(value);
  x.insert(x.end(), {1e-20f, -0.0f, INFINITY, -INFINITY});
  y = x;
  softcap({&pool}, {y.data(), static_cast<int64_t>(y.size()), 30.0f});
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, ulps(y[i], 30 * std::tanh(double{x[i]} / 30)));
  QVERIFY2(worst < 3, qPrintable(QString("%1 ulp, tolerance 3").arg(worst)));
  float none = NAN;
  softcap({&pool}, {&none, 1, 30.0f});
  QVERIFY(std::isnan(none));
}

void PointwiseTest::reorderMovesValues() {
  ThreadPool pool(2);
  std::vector<float> x(2 * 21);
  std::iota(x.begin(), x.end(), 0.0f);
  const std::vector<int32_t> order = {0, 2, 4, 6, 8, 1, 3, 5, 7, 9};
  reorder({&pool}, {x.data(), order.data(), 2, 2, 10, 21});
  for (int32_t row = 0; row < 2; ++row)
    for (int32_t head = 0; head < 2; ++head)
      for (int32_t i = 0; i < 10; ++i) {
        const int32_t first = row * 21 + head * 10;
        QCOMPARE(x[static_cast<size_t>(first + i)], static_cast<float>(first + order[static_cast<size_t>(i)]));
      }
  QCOMPARE(x[20], 20.0f);  // between the rows
}

void PointwiseTest::rmsnormIsAccurate() {
  Random r(5);
  ThreadPool pool(2);
  for (const int64_t dim : {8, 64, 100, 2048}) {
    const std::vector<float> x = r.values(3 * dim, 4), w = r.values(dim);
    std::vector<float> wRead, y(x.size());
    for (const DType t : {DType::f32, DType::f16, DType::bf16}) {
      const std::vector<uint8_t> bytes = encode(w, t, &wRead);
      for (const float offset : {0.0f, 1.0f}) {
        rmsnorm({&pool},
                {.x = x.data(),
                 .weight = bytes.data(),
                 .weightType = t,
                 .weightOffset = offset,
                 .y = y.data(),
                 .rows = 3,
                 .dim = dim,
                 .eps = 1e-5f});
        std::vector<double> want;
        for (int64_t i = 0; i < 3 * dim; ++i) {
          double sum = 0;
          for (int64_t j = 0; j < dim; ++j) sum += std::pow(double{x[static_cast<size_t>(i / dim * dim + j)]}, 2);
          want.push_back(double{x[static_cast<size_t>(i)]} / std::sqrt(sum / static_cast<double>(dim) + 1e-5) *
                         (double{wRead[static_cast<size_t>(i % dim)]} + double{offset}));
        }
        const double error = relativeError(y, want);
        QVERIFY2(error < 5e-7, qPrintable(QString("relative error %1, tolerance 5e-7").arg(error)));
      }
    }
  }
}

void PointwiseTest::ropeRotatesHalves() {
  Random r(6);
  ThreadPool pool(1);
  for (const int32_t d : {1, 2, 9, 12, 16, 20, 24, 64, 66}) {
    std::vector<float> x = r.values(2 * 3 * d), table = r.values(5 * d);
    const std::vector<float> before = x;
    const int32_t phases[] = {4, 1};
    rope({&pool}, {.x = x.data(), .phaseIndex = phases, .table = table.data(), .n = 2, .heads = 3, .headDim = d});
    std::vector<double> want;
    for (int64_t i = 0; i < 2 * 3 * d; ++i) {
      const int64_t j = i % d, half = d / 2;
      const float* t = table.data() + phases[i / (3 * d)] * 2 * half;
      const float* head = before.data() + i / d * d;
      want.push_back(j == 2 * half  ? double{head[j]}
                         : j < half ? double{head[j]} * double{t[j]} - double{head[j + half]} * double{t[j + half]}
                                    : double{head[j]} * double{t[j - half]} + double{head[j - half]} * double{t[j]});
    }
    QVERIFY(relativeError(x, want) < 2e-7);
  }
}

void PointwiseTest::embeddingGathers() {
  Random r(7);
  ThreadPool pool(2);
  const std::vector<float> table = r.values(10 * 37);
  const int32_t ids[] = {9, 0, 3, 3};
  for (const DType t : {DType::f32, DType::f16, DType::bf16}) {
    std::vector<float> read, out(4 * 37);
    const std::vector<uint8_t> bytes = encode(table, t, &read);
    embedding({&pool}, {.table = bytes.data(), .tableType = t, .ids = ids, .out = out.data(), .n = 4, .dim = 37});
    for (int i = 0; i < 4; ++i) QVERIFY(sameBits(out.data() + i * 37, read.data() + ids[i] * 37, 37));
    embedding({&pool},
              {.table = bytes.data(), .tableType = t, .ids = ids, .out = out.data(), .n = 4, .dim = 37, .scale = 2});
    QCOMPARE(out[40], 2 * read[3]);
  }
}

void PointwiseTest::targetsAgree() {
  Random r(8);
  const std::vector<float> a = r.values(1003, 30), b = r.values(1003);
  std::vector<std::vector<float>> first;
  for (const int64_t target : fusedTargets()) {
    const OnTarget only(target);
    ThreadPool pool(1);
    std::vector<float> norm(1003), rotated(a.begin(), a.begin() + 960);
    rmsnorm({&pool}, {.x = a.data(), .weight = b.data(), .y = norm.data(), .rows = 1, .dim = 1003});
    const int32_t phase = 0;
    for (const int32_t d : {24, 15})
      rope({&pool},
           {.x = rotated.data(), .phaseIndex = &phase, .table = b.data(), .n = 1, .heads = 960 / d, .headDim = d});
    std::vector<float> capped = a;
    softcap({&pool}, {capped.data(), static_cast<int64_t>(a.size()), 0.7f});
    const std::vector<std::vector<float>> all = {swigluOf(a, b),
                                                 swigluOf(a, b, GateFunction::geluTanh),
                                                 swigluOf(a, b, GateFunction::clampedSilu),
                                                 softmaxOf(a),
                                                 norm,
                                                 rotated,
                                                 capped};
    if (first.empty()) first = all;
    for (size_t i = 0; i < all.size(); ++i) QVERIFY2(sameBits(first[i], all[i]), hwy::TargetName(target));
  }
}

void PointwiseTest::argmaxAndTopk() {
  ThreadPool pool(1);
  const std::vector<float> x = {NAN, 1, 5, -INFINITY, 5, 2, NAN, 2};
  int64_t best = -1;
  argmax({&pool}, {.x = x.data(), .n = 8, .index = &best});
  QCOMPARE(best, 2);
  int32_t order[8];
  float values[8];
  topk({&pool}, {.x = x.data(), .n = 8, .k = 8, .indices = order, .values = values});
  const int32_t want[] = {2, 4, 5, 7, 1, 3, 0, 6};
  QVERIFY(std::equal(order, order + 8, want));
  QCOMPARE(values[4], 1.0f);
}

void PointwiseTest::tableIsComplete() {
  const auto* entries = reinterpret_cast<void* const*>(&cpuOps());
  for (size_t i = 0; i < sizeof(OpTable) / sizeof(void*); ++i) QVERIFY(entries[i] != nullptr);
  ThreadPool pool(1);
  const float a[] = {1, 2, 3}, b[] = {10, 20, 30};
  float out[3];
  cpuOps().add({&pool}, {.a = a, .b = b, .out = out, .count = 3});
  QCOMPARE(out[2], 33.0f);
}

KV_TEST(PointwiseTest)
#include "pointwise_test.moc"
