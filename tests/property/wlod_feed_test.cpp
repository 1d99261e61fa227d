// SPDX-License-Identifier: Apache-2.0
// A wLOD session never jams: text of any length in pieces of any size goes in, within the budget, whatever the
// cooldown.
#include "core/kinds/wlod/state/wlod_state.h"
#include "core/session/truth.h"
#include "support/runner.h"
#include "support/session_fixture.h"

namespace kvlab {

class WlodFeedTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void feed_data() {
    QTest::addColumn<QByteArray>("wlod");
    QTest::addColumn<int>("piece");
    QTest::addColumn<int>("moments");
    const std::pair<const char*, const char*> kinds[] = {
        {"flat", R"({"budget":256,"protect":32,"moments":200000})"},
        {"pyramid", R"({"budget":512,"attention":"pyramid","w":64,"w2":1024,"protect":64,"moments":200000})"},
        {"long cooldown", R"({"budget":320,"cooldown":500,"expand_at":0.01,"edits":16,"moments":200000})"}};
    test::SanitizerSample sample(3);
    for (const auto& [name, wlod] : kinds)
      for (const auto& [piece, moments] : {std::pair(1, 3000), {16, 8000}, {200, 40000}, {5000, 100000}})
        if (sample.takes()) QTest::addRow("%s, pieces of %d", name, piece) << QByteArray(wlod) << piece << moments;
  }

  void feed() {
    QFETCH(QByteArray, wlod);
    QFETCH(int, piece);
    QFETCH(int, moments);
    SessionFixture s({{"capacity", 0}, {"wlod", json::parse(wlod.toStdString())}, {"history_bytes", 0}});
    for (int fed = 0; fed < moments; fed += piece) {
      s.must("promptIds", {{"ids", SessionFixture::ids(piece, static_cast<unsigned>(fed))}});
      const WlodState& state = wlodIn(s->state());
      QCOMPARE(state.context.length(), fed + piece);
      QVERIFY2(state.context.cost() <= state.rules.working.budget, qPrintable(QString::number(state.context.cost())));
    }
    s.must("step", {{"n", 40}});
    const Result<Drift> drift = measureDrift(*s);
    QVERIFY2(drift, drift ? "" : drift.error().text().c_str());
    QCOMPARE(drift->kl, 0.0);
    for (const InvariantState& one : s->check(true)) QVERIFY2(one.ok, std::string(one.id).c_str());
  }

  /// If every tick computes all rows, older states make room for them.
  void fullPasses() {
    SessionFixture s({{"capacity", 0},
                      {"wlod", {{"budget", 160}, {"protect", 32}, {"moments", 2000}, {"recompute", "full"}}},
                      {"layers", {{{"match", "0"}, {"policy", "sliding_window:sinks=2,window=6"}}}},
                      {"history_bytes", 1 << 20}});
    s.must("promptIds", {{"ids", SessionFixture::ids(80, 1)}});
    s.must("step", {{"n", 200}});
    QCOMPARE(wlodIn(s->state()).context.length(), 280);
  }

  /// Pieces of unlike sizes, one of them more than the budget between two that are small, come back by undo.
  void unlikePieces() {
    SessionFixture s({{"capacity", 0}, {"wlod", {{"budget", 128}, {"protect", 32}, {"moments", 20000}}}});
    std::vector<std::string> hashes;
    for (const int piece : {7, 100, 900, 3, 127, 128, 129, 1, 2500}) {
      hashes.push_back(s.must("stateHash").dump());
      s.must("promptIds", {{"ids", SessionFixture::ids(piece, 5)}});
      QCOMPARE(s.must("drift").at("kl").get<double>(), 0.0);
    }
    while (!hashes.empty()) {
      while (s.must("stateHash").dump() != hashes.back()) s.must("undo");
      hashes.pop_back();
    }
  }
};

}  // namespace kvlab

KV_TEST(kvlab::WlodFeedTest)
#include "wlod_feed_test.moc"
