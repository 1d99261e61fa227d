// SPDX-License-Identifier: Apache-2.0
// Choosing a token: order of the cuts, ties, reproducibility, refusals.
#include "core/model/decoder/sampler.h"
#include "support/runner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace kvlab;

class SamplerTest : public QObject {
  Q_OBJECT
  static Sampler make(double temperature, int topK = 0, double topP = 1, double penalty = 1, std::uint64_t seed = 7) {
    return Sampler({temperature, topK, topP, penalty, seed});
  }

 private Q_SLOTS:
  void greedyTakesTheLowestOfEqualIds() {
    const std::vector<float> logits{1, 3, 3, 2};
    Sampler sampler = make(0);
    QCOMPARE(sampler.sample(logits)->value(), 1);
    QCOMPARE(sampler.state().counter, 0u);
    QCOMPARE(sampler.candidates(logits)->size(), 4u);
    QCOMPARE((*sampler.candidates(logits))[1].id.value(), 2);
  }

  void probabilitiesAreASoftmax() {
    const std::vector<float> logits{0, std::log(3.0f)};
    QVERIFY(std::abs((*make(0).candidates(logits))[0].p - 0.75f) < 1e-6f);
    QVERIFY(std::abs((*make(0.5).candidates(logits))[0].p - 0.9f) < 1e-6f);
  }

  /// Vocabularies are scanned in blocks: the best may lie anywhere in one, and twice.
  void theBestIsFoundWhereverItLies() {
    std::mt19937 random(3);
    for (const int size : {1, 63, 64, 65, 1000})
      for (int run = 0; run < 200; ++run) {
        std::vector<float> logits(static_cast<std::size_t>(size));
        for (float& v : logits)
          v = random() % 3 ? static_cast<float>(random() % 50) : -std::numeric_limits<float>::infinity();
        logits[random() % logits.size()] = 7;
        const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
        QCOMPARE(make(0).sample(logits)->value(), static_cast<int>(best));
        QCOMPARE(topCandidates(logits, 1)[0].id.value(), static_cast<int>(best));
      }
  }

  void drawsFollowTheProbabilities() {
    const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.2f)};
    Sampler sampler = make(1);
    std::array<int, 3> count{};
    for (int i = 0; i < 20000; ++i) ++count[static_cast<std::size_t>(sampler.sample(logits)->value())];
    QVERIFY(std::abs(count[0] / 20000.0 - 0.5) < 0.02);
    QVERIFY(std::abs(count[1] / 20000.0 - 0.3) < 0.02);
    QVERIFY(std::abs(count[2] / 20000.0 - 0.2) < 0.02);
  }

  void stateRestoresTheDraws() {
    std::vector<float> logits(50);
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 7);
    Sampler sampler = make(1.5), other = make(1.5, 0, 1, 1, 8);
    for (int i = 0; i < 5; ++i) QVERIFY(sampler.sample(logits));
    const RandomState saved = sampler.state();
    std::vector<int> first, second, third;
    for (int i = 0; i < 30; ++i) first.push_back(sampler.sample(logits)->value());
    sampler.restore(saved);
    for (int i = 0; i < 30; ++i) second.push_back(sampler.sample(logits)->value());
    for (int i = 0; i < 30; ++i) third.push_back(other.sample(logits)->value());
    QCOMPARE(first, second);
    QVERIFY(first != third);
  }

  void topKKeepsTheLowerOfEqualIds() {
    const std::vector<float> logits{1, 2, 1, 1};
    const auto kept = make(1, 2).candidates(logits);
    QCOMPARE(kept->size(), 2u);
    QCOMPARE((*kept)[0].id.value(), 1);
    QCOMPARE((*kept)[1].id.value(), 0);
  }

  void topPKeepsTheSmallestHead() {
    const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
    QCOMPARE(make(1, 0, 0.79).candidates(logits)->size(), 2u);
    QCOMPARE(make(1, 0, 0.81).candidates(logits)->size(), 3u);
    QCOMPARE(make(1, 0, 0).candidates(logits)->size(), 1u);
    QVERIFY(std::abs((*make(1, 0, 0.79).candidates(logits))[0].p - 0.625f) < 1e-6f);
  }

  void penaltyPushesSeenTokensDownOnce() {
    const std::vector<float> logits{4, 3, -1};
    const std::vector<TokenId> history{TokenId(0), TokenId(0), TokenId(2), TokenId(99), TokenId(-1)};
    QCOMPARE(make(0, 0, 1, 2).sample(logits, history)->value(), 1);  // 4/2 < 3; twice in the history counts once
    const auto kept = make(0, 0, 1, 2).candidates(logits, history);
    QVERIFY(std::abs((*kept)[1].p / (*kept)[0].p - std::exp(-1.0f)) < 1e-6f);
    QVERIFY(std::abs((*kept)[2].p / (*kept)[0].p - std::exp(-5.0f)) < 1e-6f);
  }

  void refusesWhatIsNoDistribution() {
    const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
    Sampler sampler = make(1);
    for (const auto& logits : {std::vector<float>{1, nan}, {1, inf}, {-inf, -inf}, {}}) {
      const auto sample = sampler.sample(logits);
      QVERIFY(!sample);
      QCOMPARE(sample.error().code, std::string("bad_logits"));
    }
    const auto why = [&](float odd) { return sampler.sample(std::vector<float>(1, odd)).error().why; };
    QCOMPARE(why(nan), std::string("logit 0 is not a number"));
    QCOMPARE(why(-nan), std::string("logit 0 is not a number"));
    QCOMPARE(why(inf), std::string("logit 0 is infinity"));
    QCOMPARE(sampler.state().counter, 0u);
    QCOMPARE(make(1).sample(std::vector<float>{-inf, 2})->value(), 1);
  }

  void topCandidatesRank() {
    const auto top = topCandidates(std::vector<float>{1, std::nanf(""), 5, 5}, 3);
    QCOMPARE(top.size(), 3u);
    QCOMPARE(top[0].id.value(), 2);
    QCOMPARE(top[1].id.value(), 3);
    QCOMPARE(top[2].id.value(), 0);
    QVERIFY(topCandidates({}, 3).empty());
  }

  void ranksAsDeepAsAsked() {
    std::vector<float> logits(5000);
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>((i * 7919) % 1013) / 100;
    std::vector<int> want(logits.size());
    std::iota(want.begin(), want.end(), 0);
    std::stable_sort(want.begin(), want.end(),
                     [&](int a, int b) { return logits[std::size_t(a)] > logits[std::size_t(b)]; });
    const auto top = topCandidates(logits, 6000);
    QCOMPARE(top.size(), logits.size());
    double sum = 0;
    for (std::size_t i = 0; i < top.size(); ++i) {
      QCOMPARE(top[i].id.value(), want[i]);
      sum += top[i].p;
    }
    QVERIFY(std::abs(sum - 1) < 1e-5);
    // A draw out of a flat distribution reaches far down, and no further than top-p allows.
    Sampler sampler = make(100, 0, 0.5);
    int deepest = 0;
    for (int i = 0; i < 300; ++i) {
      const int id = sampler.sample(logits)->value();
      deepest = std::max(deepest, static_cast<int>(std::find(want.begin(), want.end(), id) - want.begin()));
    }
    QVERIFY(deepest > 2200 && deepest < 2500);
  }
};

KV_TEST(SamplerTest)
#include "sampler_test.moc"
