// SPDX-License-Identifier: Apache-2.0
// The verb setRules changes manifest keys of a living session: from then on the session is like one that was opened
// with them, and history, captures, forks and files follow.
#include "support/session_fixture.h"

#include <QTemporaryDir>

#include "core/verbs/capture_session.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

json edits() {
  return {{{"action", "replace_pair"}, {"original_pos1", 4}, {"original_pos2", 5}, {"new_token_ids", {7}}},
          {{"action", "replace"}, {"positions", {12, 13}}, {"new_token_ids", {9, 10}}}};
}

/// A prompt, an edit, an evicted row and some tokens.
void fill(const SessionFixture& s) {
  s.prompt(24);
  s.must("step", {{"tokens", {5, 6}}});
  s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 9}}}}, {"now", true}});
  s.must("evict", {{"layer", 1}, {"ledger", {3, 6}}, {"now", true}});
  s.must("step", {{"tokens", {7}}});
}

void goOn(const SessionFixture& s) {
  s.must("inject", {{"actions", edits()}});
  s.must("step", {{"n", 3}});
}

}  // namespace

class RulesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void worksAsAtOpening_data();
  void worksAsAtOpening();
  void followsHistory_data();
  void followsHistory();
  void goesWithCapturesForksAndFiles_data() { followsHistory_data(); }
  void goesWithCapturesForksAndFiles();
  void rotatesOrRecomputes_data();
  void rotatesOrRecomputes();
  void refusesAndChangesNothing_data();
  void refusesAndChangesNothing();
  void startsTheRandomNumbersAnew();
  void changesTheSizeOfBlocks();
  void checksAsMuchAsTheRulesSay();
};

void RulesTest::worksAsAtOpening_data() {
  QTest::addColumn<QString>("rules");
  QTest::newRow("recompute") << R"({"after_edit":"recompute"})";
  QTest::newRow("selective") << R"({"after_edit":{"selective":{"ratio":0.4}}})";
  QTest::newRow("descending") << R"({"executor":"descending"})";
  QTest::newRow("sampling") << R"({"sampling":{"temperature":0.8,"top_k":20,"seed":9}})";
  QTest::newRow("blocks") << R"({"ring":{"block_tokens":3}})";
  QTest::newRow("absolute") << R"({"position":"absolute"})";
  QTest::newRow("brightness") << R"({"brightness":{"decay":30,"start":{"file":200}}})";
  QTest::newRow("culling") << R"({"brightness":{"decay":20,"compressor":"nearest","target":25}})";
  QTest::newRow("checks") << R"({"check":{"level":"full","scrub_period":4}})";
  QTest::newRow("all") << R"({"after_edit":"recompute","executor":"descending","sampling":{"temperature":0.5},
      "ring":{"block_tokens":2},"position":"absolute","check":{"level":"off"},"brightness":{"gain":3}})";
}

/// Before anything has left the context, rules of an open session are those of a session opened with them.
void RulesTest::worksAsAtOpening() {
  QFETCH(QString, rules);
  const json wanted = json::parse(rules.toStdString());
  const SessionFixture changed, opened(wanted);
  for (const SessionFixture* s : {&changed, &opened}) s->prompt(24);
  const json before = changed->snapshot()->info->manifest;
  QCOMPARE(before.contains("position"), true);
  changed.must("setRules", wanted);
  QCOMPARE(changed->snapshot()->info->manifest, opened->snapshot()->info->manifest);
  QCOMPARE(changed.hash(), opened.hash());
  goOn(changed);
  goOn(opened);
  QCOMPARE(changed.hash(), opened.hash());
  QVERIFY(changed.sound());
}

void RulesTest::followsHistory_data() {
  QTest::addColumn<QString>("manifest");
  QTest::addColumn<QString>("rules");
  for (const char* layout : {"indirection", "batch_splice", "paged:block=4", "ring_lut"})
    for (const auto& [name, rules] : std::initializer_list<std::pair<const char*, const char*>>{
             {"light", R"({"after_edit":"recompute","executor":"descending","sampling":{"temperature":0.8}})"},
             {"culling", R"({"brightness":{"decay":9,"compressor":"nearest","target":30},"check":{"level":"full"}})"},
             {"blocks", R"({"ring":{"block_tokens":3}})"},
             {"absolute", R"({"position":"absolute"})"},
             {"cache", R"({"position":"cache"})"}})
      QTest::addRow("%s %s", layout, name) << QString(R"({"layout":"%1"})").arg(layout) << QString(rules);
  QTest::newRow("keys at write") << R"({"key_phase":"at_write"})"
                                 << R"({"position":"cache"})";
  QTest::newRow("from absolute") << R"({"position":"absolute"})"
                                 << R"({"position":"context"})";
  QTest::newRow("from cache") << R"({"position":"cache","key_phase":"at_write"})"
                              << R"({"position":"absolute"})";
}

void RulesTest::followsHistory() {
  QFETCH(QString, manifest);
  QFETCH(QString, rules);
  const SessionFixture s(json::parse(manifest.toStdString()));
  fill(s);
  const std::string before = s.hash();
  const json manifestBefore = s->manifest().toJson();
  s.must("setRules", json::parse(rules.toStdString()));
  const std::string changed = s.hash();
  const json manifestChanged = s->manifest().toJson();
  QVERIFY(manifestChanged != manifestBefore);
  goOn(s);
  const std::string after = s.hash();
  QVERIFY(s.sound());
  for (int i = 0; i < 3; ++i) s.must("undo");
  QCOMPARE(s.hash(), changed);
  QCOMPARE(s->manifest().toJson(), manifestChanged);
  s.must("undo");
  QCOMPARE(s.hash(), before);
  QCOMPARE(s->manifest().toJson(), manifestBefore);
  QCOMPARE(s->snapshot()->info->manifest, manifestBefore);
  s.must("redo");
  QCOMPARE(s.hash(), changed);
  for (int i = 0; i < 3; ++i) s.must("redo");
  QCOMPARE(s.hash(), after);
  QCOMPARE(s->manifest().toJson(), manifestChanged);
  s.must("goto", {{"tick", 1}});
  QCOMPARE(s->manifest().toJson(), manifestBefore);
  QVERIFY(s.sound());
}

void RulesTest::goesWithCapturesForksAndFiles() {
  QFETCH(QString, manifest);
  QFETCH(QString, rules);
  const QTemporaryDir folder;
  const json path{{"path", folder.filePath("saved").toStdString()}}, opening = json::parse(manifest.toStdString());
  const SessionFixture s(opening);
  fill(s);
  s.must("setRules", json::parse(rules.toStdString()));
  goOn(s);
  const std::unique_ptr<Session> fork = s->fork().take();
  QCOMPARE(fork->manifest().toJson(), s->manifest().toJson());
  s.must("saveCapture", path);
  const Result<Replay> replayed = replayCapture(path["path"], KVLAB_RESOURCES_DIR, {{}, true});
  QVERIFY(replayed && replayed->ok());
  QCOMPARE(stateHash(replayed->session->state(), replayed->session->store(), {}), s.hash());
  const SessionFixture other(s->manifest().toJson());
  const bool native = s->manifest().keyPhase == "on_read";
  if (native) s.must("saveCache", path), other.must("loadCache", path), goOn(other);
  goOn(s);
  if (native) QCOMPARE(other.hash(), s.hash());
  QVERIFY(execute(*fork, "inject", {{"actions", edits()}}) && execute(*fork, "step", {{"n", 3}}));
  QCOMPARE(stateHash(fork->state(), fork->store(), {}), s.hash());
  QVERIFY(execute(*fork, "goto", {{"tick", 1}}));
  QCOMPARE(fork->manifest().toJson(), SessionFixture(opening)->manifest().toJson());
}

void RulesTest::rotatesOrRecomputes_data() {
  QTest::addColumn<QString>("from");
  QTest::addColumn<QString>("to");
  for (const char* from : {"context", "absolute", "cache"})
    for (const char* to : {"context", "absolute", "cache"})
      if (from != std::string(to)) QTest::addRow("%s to %s", from, to) << from << to;
}

/// Rows keep their keys and values. A rebuild then gives the rows of a session that was in the other mode all along.
void RulesTest::rotatesOrRecomputes() {
  QFETCH(QString, from);
  QFETCH(QString, to);
  const SessionFixture s(json{{"position", from.toStdString()}}), other(json{{"position", to.toStdString()}});
  fill(s);
  const std::string rows = s.rows();
  s.must("setRules", {{"position", to.toStdString()}});
  QCOMPARE(s.rows(), rows);
  QVERIFY(s.sound());
  fill(other);
  for (const SessionFixture* one : {&s, &other}) one->must("rebuild");
  if (to != "absolute") QCOMPARE(s.rows(), other.rows());
  const json drift = s.must("drift");
  QCOMPARE(drift["kl"], 0.0);
  goOn(s);
  QVERIFY(s.sound());
}

void RulesTest::refusesAndChangesNothing_data() {
  QTest::addColumn<QString>("manifest");
  QTest::addColumn<QString>("rules");
  QTest::addColumn<QString>("field");
  QTest::newRow("unknown key") << "{}"
                               << R"({"sampling":{"temprature":1}})"
                               << "sampling.temprature";
  QTest::newRow("bound") << "{}"
                         << R"({"sampling":{"top_p":2}})"
                         << "sampling.top_p";
  QTest::newRow("word") << "{}"
                        << R"({"executor":"sideways"})"
                        << "executor";
  QTest::newRow("no object") << "{}"
                             << R"({"ring":3})"
                             << "ring";
  QTest::newRow("zero") << "{}"
                        << R"({"ring":{"block_tokens":0}})"
                        << "ring.block_tokens";
  QTest::newRow("window") << "{}"
                          << R"({"ring":{"window":8}})"
                          << "ring.window";
  QTest::newRow("most brightness") << "{}"
                                   << R"({"brightness":{"decay":3,"max":90}})"
                                   << "brightness.max";
  QTest::newRow("brighter than there is") << "{}"
                                          << R"({"brightness":{"start":{"model":1024}}})"
                                          << "brightness.start.model";
  QTest::newRow("level") << "{}"
                         << R"({"check":{"level":"most"}})"
                         << "check.level";
  QTest::newRow("culling in wLOD") << R"({"wlod":{"budget":64},"capacity":0})"
                                   << R"({"brightness":{"compressor":"nearest"}})"
                                   << "brightness.compressor";
  QTest::newRow("not a rule") << "{}"
                              << R"({"layout":"paged"})"
                              << "layout";
  QTest::newRow("nothing") << "{}"
                           << R"({})"
                           << "args";
  QTest::newRow("selective by head") << R"({"residency":"kv_head"})"
                                     << R"({"after_edit":"selective"})"
                                     << "after_edit";
}

void RulesTest::refusesAndChangesNothing() {
  QFETCH(QString, manifest);
  QFETCH(QString, rules);
  QFETCH(QString, field);
  const SessionFixture s(json::parse(manifest.toStdString()));
  s.prompt(24);
  const std::string before = s.hash();
  const json manifestBefore = s->manifest().toJson();
  const int entries = s->timeline().size();
  json wanted = json::parse(rules.toStdString());
  if (!wanted.empty()) wanted["executor"] = wanted.value("executor", "descending");
  const Result<json> result = s.verb("setRules", wanted);
  QVERIFY(!result);
  QCOMPARE(QString::fromStdString(result.error().field), field);
  QVERIFY(!result.error().remedy.empty());
  QCOMPARE(s.hash(), before);
  QCOMPARE(s->manifest().toJson(), manifestBefore);
  QCOMPARE(s->timeline().size(), entries);
  QVERIFY(s.sound());
}

void RulesTest::startsTheRandomNumbersAnew() {
  const SessionFixture s(json{{"sampling", {{"temperature", 1.0}}}});
  s.prompt(12);
  s.must("step", {{"n", 3}});
  s.must("setRules", {{"sampling", {{"seed", 77}}}});
  QCOMPARE(s->state().random[0], 77u);
  QCOMPARE(s->state().random[1], 0u);
  s.must("step");
  s.must("setRules", {{"sampling", {{"top_k", 5}}}});
  QCOMPARE(s->state().random[0], 77u);
  QCOMPARE(s->state().random[1], 1u);
}

void RulesTest::changesTheSizeOfBlocks() {
  const SessionFixture s(json{{"layout", "ring_fused"}, {"ring", {{"window", 16}}}});
  s.prompt(24);
  s.must("setRules", {{"ring", {{"block_tokens", 3}}}});
  QCOMPARE(s->manifest().ring.window, 16);
  QCOMPARE(s.must("step")[0]["block"].size(), 3u);
  s.must("setRules", {{"ring", {{"block_tokens", 1}}}});
  QCOMPARE(s.must("step")[0]["block"].size(), 1u);
  QVERIFY(s.sound());
}

/// Level off finds no damage, level full finds it in the tick behind it.
void RulesTest::checksAsMuchAsTheRulesSay() {
  const SessionFixture s(json{{"faults", true}, {"check", {{"level", "off"}}}});
  s.prompt(24);
  s.must("fault", {{"kind", "value_bit"}, {"layer", 0}, {"index", 1}});
  QVERIFY(s.must("step")[0]["violations"].empty());
  s.must("setRules", {{"check", {{"level", "full"}}}});
  QVERIFY(!s.must("step")[0]["violations"].empty());
}

KV_TEST(RulesTest)
#include "rules_test.moc"
