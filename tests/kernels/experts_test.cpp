// SPDX-License-Identifier: Apache-2.0
// The choice of experts and the rows that go to them, against the textbook in f64.
#include <algorithm>
#include <numeric>

#include "kernels/ops/experts.h"
#include "kernels/thread_pool.h"
#include "support.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

namespace {

struct Routed {
  std::vector<int32_t> chosen;
  std::vector<float> weights;
};

Routed routed(const std::vector<float>& scores, int32_t experts, int32_t top, bool normalised, int threads = 1) {
  const auto n = static_cast<int64_t>(scores.size()) / experts;
  Routed out{std::vector<int32_t>(static_cast<size_t>(n * top), -1), std::vector<float>(static_cast<size_t>(n * top))};
  ThreadPool pool(threads);
  route({&pool}, {scores.data(), n, experts, top, normalised, out.chosen.data(), out.weights.data()});
  return out;
}

}  // namespace

class ExpertsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void chosenAreTheLargest() {
    constexpr unsigned kExperts = 37, kTop = 5;
    const std::vector<float> scores = Random(1).values(200 * kExperts, 6);
    for (const bool normalised : {true, false}) {
      const Routed got = routed(scores, kExperts, kTop, normalised);
      for (size_t row = 0; row < 200; ++row) {
        const float* own = scores.data() + row * kExperts;
        std::vector<int32_t> order(kExperts);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return own[a] > own[b]; });
        double sum = 0;
        for (size_t i = 0; i < size_t{normalised ? kTop : kExperts}; ++i) sum += std::exp(double{own[order[i]]});
        for (size_t i = 0; i < kTop; ++i) {
          QCOMPARE(got.chosen[row * kTop + i], order[i]);
          const double want = std::exp(double{own[order[i]]}) / sum;
          QVERIFY(std::fabs(double{got.weights[row * kTop + i]} - want) < 1e-6 * want + 1e-9);
        }
      }
    }
  }

  void tiesAndOddScores() {
    const Routed ties = routed({1, 2, 2, 2}, 4, 3, true);
    QCOMPARE(ties.chosen, (std::vector<int32_t>{1, 2, 3}));
    QVERIFY(std::fabs(ties.weights[0] - 1.0f / 3) < 1e-7f && ties.weights[0] == ties.weights[2]);
    const Routed odd = routed({NAN, 1, -INFINITY, 0}, 4, 4, true);  // not a number ranks with minus infinity
    QCOMPARE(odd.chosen, (std::vector<int32_t>{1, 3, 0, 2}));
    QCOMPARE(routed({5}, 1, 1, false).weights, std::vector<float>{1});
  }

  /// A row's choice does not depend on the rows beside it or the threads.
  void rowsAreAlone() {
    const std::vector<float> scores = Random(2).values(300 * 8, 3);
    const Routed all = routed(scores, 8, 2, true, 3);
    for (size_t row = 0; row < 300; row += 37) {
      const Routed one = routed({scores.begin() + static_cast<std::ptrdiff_t>(row * 8),
                                 scores.begin() + static_cast<std::ptrdiff_t>(row * 8 + 8)},
                                8, 2, true);
      QVERIFY(
          std::equal(one.chosen.begin(), one.chosen.end(), all.chosen.begin() + static_cast<std::ptrdiff_t>(row * 2)));
      QVERIFY(std::equal(one.weights.begin(), one.weights.end(),
                         all.weights.begin() + static_cast<std::ptrdiff_t>(row * 2)));
    }
  }

  void targetsAgree() {
    const std::vector<float> scores = Random(3).values(50 * 37, 6);
    std::vector<Routed> all;
    for (const int64_t target : fusedTargets()) {
      const OnTarget only(target);
      all.push_back(routed(scores, 37, 5, true));
      QCOMPARE(all.back().chosen, all.front().chosen);
      QVERIFY2(sameBits(all.back().weights, all.front().weights), hwy::TargetName(target));
    }
  }

  void rowsGoAndComeBack() {
    ThreadPool pool(2);
    const std::vector<float> x{1, 2, 3, 4, 5, 6};
    const std::vector<int32_t> rows{2, 0};
    std::vector<float> taken(4), sum(x);
    takeRows({&pool}, {x.data(), rows.data(), taken.data(), 2, 2});
    QCOMPARE(taken, (std::vector<float>{5, 6, 1, 2}));
    const std::vector<float> weights{0.5f, -1.0f};
    mixRows({&pool}, {taken.data(), rows.data(), weights.data(), sum.data(), 2, 2});
    QCOMPARE(sum, (std::vector<float>{0, 0, 3, 4, 7.5f, 9}));
  }
};

KV_TEST(ExpertsTest)
#include "experts_test.moc"
