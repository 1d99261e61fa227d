// SPDX-License-Identifier: Apache-2.0
// Watches: every published state has the values that the verb `value` gives of it, whatever is done to the session.
#include <map>
#include <set>

#include "core/session/observe.h"
#include "support/commits.h"

using namespace kvlab;

class WatchesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void publishedValuesAreThose_data() {
    QTest::addColumn<int>("manifest");
    for (int i = 0; i < static_cast<int>(kHistoryManifests.size()); ++i)
      QTest::addRow("%s", kHistoryManifests[static_cast<std::size_t>(i)].dump().c_str()) << i;
  }
  void publishedValuesAreThose() {
    QFETCH(int, manifest);
    SessionFixture s(kHistoryManifests[static_cast<std::size_t>(manifest)]);
    std::mt19937 random(static_cast<unsigned>(manifest));
    s.prompt(12);
    const std::vector<std::string> texts = {"length",
                                            "kl",
                                            "rows(layer==1)",
                                            "changed(rows(layer==1))",
                                            "evicted",
                                            "brightness(ledger==3)",
                                            "exactness(ledger==5)",
                                            "read(ledger==1)"};
    std::vector<std::string> taken;
    for (const std::string& text : texts)
      if (s.verb("watch", {{"expression", text}})) taken.push_back(text);
    QVERIFY(taken.size() > 5);
    std::map<std::string, std::set<std::string>> seen;
    const auto compare = [&] {
      const SnapshotPtr shown = s->snapshot();
      QVERIFY(shown->watches && shown->watches->size() == taken.size());
      for (std::size_t i = 0; i < taken.size(); ++i) {
        QCOMPARE((*shown->watches)[i].expression, taken[i]);
        const json value = toJson((*shown->watches)[i])["value"];
        QCOMPARE(value.dump(), s.must("value", {{"expression", taken[i]}}).dump());
        seen[taken[i]].insert(value.dump());
      }
    };
    for (int i = 0; i < 20 && !QTest::currentTestFailed(); ++i) {
      randomCommit(s, random);
      compare();
      if (random() % 5 == 0 && s.verb("undo")) compare();
      if (random() % 7 == 0 && s.verb("redo")) compare();
    }
    for (const char* text : {"length", "brightness(ledger==3)"}) QVERIFY2(seen[text].size() > 1, text);
    QVERIFY(s.sound());
  }

  void comeAndGo() {
    SessionFixture s;
    QVERIFY(!s->snapshot()->watches);
    QCOMPARE(s.must("watch", {{"expression", "length"}})[0], json({{"id", 1}, {"expression", "length"}, {"value", 0}}));
    QCOMPARE(s.must("watch", {{"expression", "exactness(ledger==0)"}})[1]["value"], json(""));
    s.prompt(8);
    QCOMPARE(s.must("watches")[0]["value"], json(8));
    QCOMPARE(s.must("watches")[1]["value"], json("exact"));
    const auto copy = s->fork();
    QVERIFY(copy);
    QCOMPARE((*copy)->snapshot()->watches->size(), std::size_t(2));
    QVERIFY(s.must("step").is_array());
    QCOMPARE(std::get<double>((*copy)->snapshot()->watches->front().value), 8.0);
    const std::string hash = s.hash();
    QCOMPARE(s.verb("clearWatches", {{"id", 9}}).error().code, std::string("no_watch"));
    QCOMPARE(s.must("clearWatches", {{"id", 1}}).size(), std::size_t(1));
    QCOMPARE(s.verb("watch", {{"expression", "rows(layer==99)"}}).error().code, std::string("bad_condition"));
    QCOMPARE(s->snapshot()->watches->size(), std::size_t(1));
    s.must("reset");
    QCOMPARE(s.must("watches")[0]["value"], json(""));
    s.must("clearWatches");
    QVERIFY(!s->snapshot()->watches);
    QVERIFY(!hash.empty());
  }

  /// A tick that stands open has no state yet: the watches say what the state before it said.
  void openTicks() {
    SessionFixture s;
    s.prompt(8);
    s.must("watch", {{"expression", "length"}});
    s.must("stepStage");
    QCOMPARE(s.must("watches")[0]["value"], json(8));
    s.must("finishTick");
    QCOMPARE(s.must("watches")[0]["value"], json(9));
  }

  /// What the window completes is what the language knows.
  void factsAreListed() {
    SessionFixture s;
    const json all = s.must("facts");
    QCOMPARE(all.size(), facts().size());
    for (const json& fact : all) QVERIFY(findFact(fact["name"]) && !fact["help"].get<std::string>().empty());
  }
};

QTEST_GUILESS_MAIN(WatchesTest)
#include "watches_test.moc"
