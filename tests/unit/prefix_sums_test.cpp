// SPDX-License-Identifier: Apache-2.0
// A state keeps the prefix sums of its rows from tick to tick, whatever leaves, and they are those of the rows.
#include "support/scripted_session.h"

#include "core/session/session.h"
#include "support/runner.h"

using namespace kvlab;
using namespace kvlab::test;

class PrefixSumsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void stayWithTheState_data() {
    QTest::addColumn<QString>("more");
    QTest::newRow("full") << "{}";
    QTest::newRow("by layer") << R"({"policy":"h2o:sinks=2,window=6,capacity=20"})";
    QTest::newRow("by head") << R"({"policy":"adakv:sinks=2,window=6,capacity=20"})";
    QTest::newRow("places of its own") << R"({"policy":"tova:capacity=20","position":"cache"})";
    QTest::newRow("phases of birth") << R"({"policy":"h2o:capacity=20","position":"absolute"})";
    QTest::newRow("ring") << R"({"layout":"ring_fused","ring":{"window":20}})";
  }
  void stayWithTheState() {
    QFETCH(QString, more);
    const auto s = opened(tinyManifest(json::parse(more.toStdString())));
    call(*s, "promptIds", {{"ids", someIds(30, 200, 3)}});
    // A row that leaves takes the phases of those behind it along where phases are indices.
    const bool phased = !more.contains("cache");
    const auto whole = [&] {
      const CacheState& state = s->state();
      return state.contextSums.size() + 1 >= state.context.size() &&
          std::ranges::all_of(state.groups, [&](const LayerGroup& group) {
               return group.idSums.size() == group.map->size() + 1 &&
                   (!phased || group.phasedSums.size() == group.map->size() + 1);
             });
    };
    for (int round = 0; round < 4; ++round) {
      call(*s, "step", {{"n", 3}});
      QVERIFY(whole());
      QCOMPARE(broken(*s), QString());  // compares all sums with the rows
    }
    call(*s, "inject", {{"now", true}, {"actions", {{{"action", "delete"}, {"position", 5}}}}});
    QCOMPARE(broken(*s), QString());
    call(*s, "undo", {{"n", 2}});
    QCOMPARE(broken(*s), QString());
    call(*s, "step", {{"n", 2}});
    QVERIFY(whole());
    QCOMPARE(broken(*s), QString());
  }
};

KV_TEST(PrefixSumsTest)
#include "prefix_sums_test.moc"
