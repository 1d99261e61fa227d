// SPDX-License-Identifier: Apache-2.0
// Every figure against numbers worked out by hand.
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "core/analysis/metrics.h"
#include "core/model/decoder/sampler.h"
#include "support/runner.h"

using namespace kvlab;

namespace {
using Floats = std::vector<float>;
using Flags = std::vector<std::uint8_t>;

bool within(double a, double b) { return std::abs(a - b) <= 1e-6; }

/// Logits whose softmax is `p`, moved by a constant as logits may be.
Floats logitsOf(std::initializer_list<double> p, double shift) {
  Floats out;
  for (const double one : p) out.push_back(static_cast<float>(std::log(one) + shift));
  return out;
}
}  // namespace

class MetricsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void divergence();
  void likelihood();
  void likeliest();
  void mass();
  void overlap();
  void needles();
  void errors();
  void summaries();
  void growingSeries();
  void areListedOnce();
};

void MetricsTest::divergence() {
  const Floats p = logitsOf({0.5, 0.25, 0.25}, 3), q = logitsOf({0.25, 0.25, 0.5}, -7);
  QVERIFY(within(klDivergence(p, q), 0.25 * std::log(2.0)));  // 1/2 ln 2 + 1/4 ln 1/2
  const Floats r = logitsOf({0.9, 0.05, 0.05}, 0);
  QVERIFY(within(klDivergence(p, r), 0.5 * std::log(0.5 / 0.9) + 0.5 * std::log(0.25 / 0.05)));
  QVERIFY(within(klDivergence(r, p), 0.9 * std::log(0.9 / 0.5) + 0.1 * std::log(0.05 / 0.25)));
  QCOMPARE(klDivergence(p, p), 0.0);
  QVERIFY(std::isnan(klDivergence(p, Floats{1, 2})));
  QVERIFY(std::isnan(klDivergence({}, {})));
  // A token with probability 0 in p costs nothing; one with probability 0 only in q costs infinity.
  const float never = -std::numeric_limits<float>::infinity();
  QVERIFY(within(klDivergence(Floats{0, never}, Floats{0, 0}), std::log(2.0)));
  QVERIFY(std::isinf(klDivergence(Floats{0, 0}, Floats{0, never})));
}

void MetricsTest::likelihood() {
  const Floats p = logitsOf({0.5, 0.125, 0.375}, 11);
  QVERIFY(within(negativeLogLikelihood(p, TokenId(0)), std::log(2.0)));
  QVERIFY(within(negativeLogLikelihood(p, TokenId(1)), std::log(8.0)));
  QVERIFY(std::isnan(negativeLogLikelihood(p, TokenId(3))));
  QVERIFY(std::isnan(negativeLogLikelihood(p, TokenId(-1))));
  QVERIFY(within(negativeLogLikelihood(Floats{1000, 0}, TokenId(1)), 1000));  // no overflow on the way
}

void MetricsTest::likeliest() {
  QCOMPARE(likeliestToken(Floats{1, 5, 3}).value(), 1);
  QCOMPARE(likeliestToken(Floats{1, 5, 5}).value(), 1);
  QCOMPARE(likeliestToken({}).value(), -1);
}

void MetricsTest::mass() {
  const Floats mass{0.5f, 0.25f, 0.125f, 0.125f};
  QCOMPARE(massKept(mass, Flags{1, 0, 0, 1}), 0.625);
  QCOMPARE(massKept(mass, Flags{1, 1, 1, 1}), 1.0);
  QCOMPARE(massKept(mass, Flags{0, 0, 0, 0}), 0.0);
  QCOMPARE(massKept(Floats{2, 6}, Flags{1, 0}), 0.25);  // sums that are not 1
  QVERIFY(std::isnan(massKept(Floats{0, 0}, Flags{1, 1})));
  QVERIFY(std::isnan(massKept(mass, Flags{1})));
}

void MetricsTest::overlap() {
  QCOMPARE(jaccard(Flags{1, 1, 1, 0}, Flags{0, 1, 1, 1}), 0.5);  // 2 of 4
  QCOMPARE(jaccard(Flags{1, 1, 1, 1, 1}, Flags{0, 0, 0, 1, 1}), 0.4);
  QCOMPARE(jaccard(Flags{1, 0}, Flags{0, 1}), 0.0);
  QCOMPARE(jaccard(Flags{0, 0}, Flags{0, 0}), 1.0);
  QVERIFY(std::isnan(jaccard(Flags{1}, Flags{1, 1})));
}

void MetricsTest::needles() {
  const Flags resident{1, 0, 1, 1, 0};
  const std::vector<std::int32_t> three{0, 1, 3}, outside{5};
  QVERIFY(within(survival(resident, three), 2.0 / 3));
  QVERIFY(std::isnan(survival(resident, {})));
  QVERIFY(std::isnan(survival(resident, outside)));
}

void MetricsTest::errors() {
  QVERIFY(within(relativeError(Floats{3, 4}, Floats{3, 3}), 0.2));  // 1 over 5
  QCOMPARE(relativeError(Floats{0, 0}, Floats{0, 0}), 0.0);
  QVERIFY(std::isnan(relativeError(Floats{0, 0}, Floats{1, 0})));
}

void MetricsTest::summaries() {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Summary odd = summarise(std::vector<double>{5, none, 1, 3});
  QCOMPARE(odd.count, 3);
  QCOMPARE(odd.mean, 3.0);
  QCOMPARE(odd.median, 3.0);
  QCOMPARE(odd.last, 3.0);
  QCOMPARE(odd.p99, 5.0);
  QCOMPARE(summarise(std::vector<double>{4, 1, 2, 9}).median, 3.0);
  std::vector<double> many(200);
  std::iota(many.begin(), many.end(), 1.0);
  QCOMPARE(summarise(many).p99, 198.0);  // rank ceil(0.99 * 200)
  many.push_back(201);
  QCOMPARE(summarise(many).p99, 199.0);  // rank ceil(198.99)
  QCOMPARE(summarise(std::vector<double>{none}).count, 0);
}

void MetricsTest::growingSeries() {
  Samples grown;
  std::vector<double> all;
  QCOMPARE(grown.summary().count, 0);
  for (int i = 0; i < 250; ++i) {
    all.push_back(i % 50 == 7 ? std::numeric_limits<double>::quiet_NaN() : std::fmod(i * 7.3, 11) - 2);
    grown.add(all.back());
    const Summary now = grown.summary(), expected = summarise(all);
    QCOMPARE(now.count, expected.count);
    QCOMPARE(now.mean, expected.mean);
    QCOMPARE(now.median, expected.median);
    QCOMPARE(now.p99, expected.p99);
    QCOMPARE(now.last, expected.last);
  }
}

void MetricsTest::areListedOnce() {
  std::set<std::string_view> ids;
  for (const MetricName& one : metrics()) {
    QVERIFY2(ids.insert(one.id).second, std::string(one.id).c_str());
    QVERIFY(!one.title.empty());
  }
  for (const char* id : {"kl", "dnll", "top1", "mass_kept", "overlap", "needles", "weight_bytes"})
    QVERIFY2(ids.contains(id), id);
}

KV_TEST(MetricsTest)
#include "metrics_test.moc"
