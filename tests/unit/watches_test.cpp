// SPDX-License-Identifier: Apache-2.0
// Watches: every published state has the values that the verb `value` gives of it, whatever is done to the session.
#include <map>
#include <set>

#include "core/session/observe.h"
#include "core/verbs/capture_session.h"
#include "support/commits.h"
#include "support/runner.h"

using namespace kvlab;

class WatchesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void publishedValuesAreThose_data() {
    QTest::addColumn<int>("manifest");
    for (int i = 0; i < static_cast<int>(historyManifests().size()); ++i)
      QTest::addRow("%s", historyManifests()[static_cast<std::size_t>(i)].dump().c_str()) << i;
  }
  void publishedValuesAreThose() {
    QFETCH(int, manifest);
    SessionFixture s(historyManifests()[static_cast<std::size_t>(manifest)]);
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

  /// A tick that stands open has no state yet: the watches have the values of the state before it.
  void openTicks() {
    SessionFixture s;
    s.prompt(8);
    s.must("watch", {{"expression", "length"}});
    s.must("stepStage");
    QCOMPARE(s.must("watches")[0]["value"], json(8));
    s.must("finishTick");
    QCOMPARE(s.must("watches")[0]["value"], json(9));
  }

  /// A capture has the watches of its session, also those that came and went while it ran.
  void capturesKeepThem() {
    QTemporaryDir folder;
    const std::string saved = folder.filePath("a.kvcap").toStdString(), live = folder.filePath("b.kvcap").toStdString();
    SessionFixture s;
    s.prompt(8);
    s.must("watch", {{"expression", "length"}});
    s.must("watch", {{"expression", "rows(layer==1)"}});
    s.must("saveCapture", {{"path", saved}});
    s.must("startCapture", {{"path", live}});
    s.must("step");
    s.must("clearWatches", {{"id", 1}});
    s.must("watch", {{"expression", "kl"}});
    s.must("stopCapture");
    const auto texts = [](const Session& session) {
      std::vector<std::string> out;
      for (const WatchView& one : session.watches().list())
        out.push_back(std::to_string(one.id) + " " + one.expression);
      return out;
    };
    const auto replay = [&](const std::string& path) {
      Result<Replay> out = replayCapture(path, KVLAB_RESOURCES_DIR);
      if (!out) qFatal("%s", out.error().text().c_str());
      return out.take();
    };
    QCOMPARE(texts(*replay(saved).session), (std::vector<std::string>{"1 length", "2 rows(layer==1)"}));
    QCOMPARE(texts(*replay(live).session), texts(*s));
    QCOMPARE(texts(*s), (std::vector<std::string>{"2 rows(layer==1)", "3 kl"}));
    QCOMPARE(replay(saved).session->snapshot()->watches->size(), std::size_t(2));
  }

  /// A condition about rows selects those for which the same condition that names the row is true.
  void rowsWhereIsAskedOfEach() {
    const std::vector<QString> conditions = {"brightness%1 > 60", "exactness%1 != 'exact'",
                                             "read%1 > 0.05",     "not (read%1 > 0.05) and brightness%1 < 200",
                                             "changed(phase%1)",  "length > 3"};
    std::map<QString, int> found;
    for (const json& manifest : historyManifests()) {
      SessionFixture s(manifest);
      std::mt19937 random(5);
      s.prompt(12);
      for (int i = 0; i < 12; ++i) randomCommit(s, random);
      for (const QString& condition : conditions) {
        json expected = json::array();
        for (const LedgerId row : s->state().context) {
          QString named = condition;
          named.replace("%1", QString("(ledger==%1)").arg(row.value()));
          if (s.must("value", {{"expression", named.toStdString()}}) == json(true)) expected.push_back(row.value());
        }
        QString bare = condition;
        bare.remove("%1");
        QCOMPARE(QString::fromStdString(s.must("rowsWhere", {{"condition", bare.toStdString()}}).dump()) + " " + bare,
                 QString::fromStdString(expected.dump()) + " " + bare);
        found[condition] += static_cast<int>(expected.size());
      }
    }
    for (const QString& condition : conditions) QVERIFY2(found[condition] > 0, qPrintable(condition));
  }

  /// Reads by tick equal the values at each tick, whatever states are kept.
  void readsAreThoseOfEachTick() {
    for (const json& manifest : historyManifests())
      for (const bool kept : {true, false}) {
        json keys = manifest;
        if (!kept) keys["history_bytes"] = 0;
        SessionFixture s(keys);
        keepAttention(*s);
        s.prompt(12);
        std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, double>>> seen;
        for (int i = 0; i < 8; ++i) {
          if (i == 4 && !s.verb("inject", {{"actions", {{{"action", "delete"}, {"position", 6}}}}, {"now", true}}))
            continue;
          s.must("step");
          for (const int row : {0, 5, 12})
            for (const int layer : {0, 2}) {
              const json mass = kept
                  ? s.must("value",
                           {{"expression",
                             "read(ledger==" + std::to_string(row) + ", layer==" + std::to_string(layer) + ")"}})
                  : json();
              if (mass.is_number() && mass > 0) seen[{row, layer}].emplace_back(s->state().tick.value(), mass);
            }
        }
        for (const int row : {0, 5, 12})
          for (const int layer : {0, 2}) {
            const json told = s.must("reads", {{"ledger", row}, {"layer", layer}});
            std::vector<std::pair<std::int64_t, double>> steps;
            for (const json& one : told)
              if (one["verb"] == "step") steps.emplace_back(one["tick"], one["mass"]);
            if (kept) QCOMPARE(steps, (seen[{row, layer}]));
            if (!kept && !manifest.contains("ring") && !manifest.contains("policy")) QVERIFY(!steps.empty());
          }
      }
  }

  /// The facts that the window completes are those that the language knows.
  void factsAreListed() {
    SessionFixture s;
    const json all = s.must("facts");
    QCOMPARE(all.size(), facts().size());
    for (const json& fact : all) QVERIFY(findFact(fact["name"]) && !fact["help"].get<std::string>().empty());
  }
};

KV_TEST(WatchesTest)
#include "watches_test.moc"
