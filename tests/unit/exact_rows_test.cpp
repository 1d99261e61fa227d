// SPDX-License-Identifier: Apache-2.0
// The invariant exact_rows at level cheap: every query head of every layer has its turn, also where a scrub period
// looks at some layers only.
#include "core/check/checks.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;
using nlohmann::json;

class ExactRowsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void everyHeadHasItsTurn() {
    constexpr int kLayers = 12, kParts = 16, kRounds = 2;  // 8 layers in a round
    SessionFixture session(
        {{"model", "synthetic:tiny:layers=" + std::to_string(kLayers)}, {"check", {{"scrub_period", kParts}}}});
    session.prompt(20);
    session.must("step");
    const std::span<const PassDeed> all = session->store().deeds().all();
    const std::vector<PassDeed> sound(all.begin(), all.end());
    CacheState state = session->state();
    const auto found = [&](const std::vector<PassDeed>& deeds, std::int64_t period, std::int64_t part) {
      state.tick = Tick(static_cast<std::int32_t>(period * kParts + part));
      std::vector<Violation> out;
      Findings findings("exact_rows", out);
      checkExactRows({.state = state,
                      .store = session->store(),
                      .manifest = session->manifest(),
                      .scrubPart = part,
                      .transformer = session->parts().transformer.get(),
                      .deeds = deeds},
                     findings);
      return out;
    };
    const int heads = session->model().config().heads;
    QVERIFY(heads % kRounds == 0);  // else every head has its turn whichever way they are counted
    for (int head = 0; head < heads; ++head)
      for (std::size_t layer = 0; layer + 1 < kLayers; ++layer) {  // the last layer's outputs have a check of their own
        std::vector<PassDeed> deeds = sound;
        const auto bent = std::ranges::find(deeds, CacheLayer(static_cast<std::int32_t>(layer)),
                                            [](const PassDeed& d) { return d.layer; });
        const std::size_t dim = bent->attended.size() / static_cast<std::size_t>(heads);
        bent->attended[static_cast<std::size_t>(head) * dim] += 1;
        int times = 0;
        for (std::int64_t period = 0; period < kRounds * heads; ++period)
          for (std::int64_t part = 0; part < kParts; ++part) {
            QVERIFY(found(sound, period, part).empty());
            for (const Violation& one : found(deeds, period, part)) {
              QCOMPARE(one.layer, std::optional(CacheLayer(static_cast<std::int32_t>(layer))));
              QVERIFY2(one.detail.find("query head " + std::to_string(head)) != std::string::npos, one.detail.c_str());
              ++times;
            }
          }
        QCOMPARE(times, 1);
      }
  }
};

KV_TEST(ExactRowsTest)
#include "exact_rows_test.moc"
