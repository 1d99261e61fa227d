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

class SettingsTest : public QObject {
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

void SettingsTest::worksAsAtOpening_data() {
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
void SettingsTest::worksAsAtOpening() {
  QFETCH(QString, rules);
  const json wanted = json::parse(rules.toStdString());
  const SessionFixture changed, opened(wanted);
  for (const SessionFixture* s : {&changed, &opened}) s->prompt(24);
  const json before = changed->snapshot()->settings->manifest;
  QCOMPARE(before.contains("position"), true);
  changed.must("settings", wanted);
  QCOMPARE(changed->snapshot()->settings->manifest, opened->snapshot()->settings->manifest);
  QCOMPARE(changed.hash(), opened.hash());
  goOn(changed);
  goOn(opened);
  QCOMPARE(changed.hash(), opened.hash());
  QVERIFY(changed.sound());
}

void SettingsTest::followsHistory_data() {
  QTest::addColumn<QString>("manifest");
  QTest::addColumn<QString>("rules");
  for (const char* layout : {"indirection", "batch_splice", "paged:block=4", "ring_lut"})
    for (const auto& [name, rules] : std::initializer_list<std::pair<const char*, const char*>>{
             {"light", R"({"after_edit":"recompute","executor":"descending","sampling":{"temperature":0.8}})"},
             {"culling", R"({"brightness":{"decay":9,"compressor":"nearest","target":30},"check":{"level":"full"}})"},
             {"blocks", R"({"ring":{"block_tokens":3}})"},
             {"absolute", R"({"position":"absolute"})"},
             {"cache", R"({"position":"cache"})"},
             {"policy", R"({"policy":"h2o:capacity=20,window=4"})"},
             {"types", R"({"kv":{"k":"f16","v":"int8"},"capacity":90})"},
             {"mixed", R"({"layout":"paged:block=8","policy":"streaming_llm:capacity=24,sinks=2","capacity":80,
                 "layers":[{"match":1,"layout":"ring_fused","policy":"full"}],"sampling":{"temperature":0.6}})"},
             {"mixed and severed", R"({"kv":{"v":"f16"},"ring":{"block_tokens":2},"policy":"snapkv:capacity=24"})"}})
      QTest::addRow("%s %s", layout, name) << QString(R"({"layout":"%1"})").arg(layout) << QString(rules);
  QTest::newRow("keys at write") << R"({"key_phase":"at_write"})"
                                 << R"({"position":"cache"})";
  QTest::newRow("from absolute") << R"({"position":"absolute"})"
                                 << R"({"position":"context"})";
  QTest::newRow("from cache") << R"({"position":"cache","key_phase":"at_write"})"
                              << R"({"position":"absolute"})";
}

void SettingsTest::followsHistory() {
  QFETCH(QString, manifest);
  QFETCH(QString, rules);
  const SessionFixture s(json::parse(manifest.toStdString()));
  fill(s);
  const std::string before = s.hash();
  const json manifestBefore = s->snapshot()->settings->manifest;
  s.must("settings", json::parse(rules.toStdString()));
  const std::string changed = s.hash();
  const json manifestChanged = s->snapshot()->settings->manifest;
  QVERIFY(manifestChanged != manifestBefore);
  goOn(s);
  const std::string after = s.hash();
  QVERIFY(s.sound());
  for (int i = 0; i < 3; ++i) s.must("undo");
  QCOMPARE(s.hash(), changed);
  QCOMPARE(s->snapshot()->settings->manifest, manifestChanged);
  s.must("undo");
  QCOMPARE(s.hash(), before);
  QCOMPARE(s->snapshot()->settings->manifest, manifestBefore);
  QCOMPARE(s->snapshot()->settings->manifest, manifestBefore);
  s.must("redo");
  QCOMPARE(s.hash(), changed);
  for (int i = 0; i < 3; ++i) s.must("redo");
  QCOMPARE(s.hash(), after);
  QCOMPARE(s->snapshot()->settings->manifest, manifestChanged);
  s.must("goto", {{"tick", 1}});
  QCOMPARE(s->snapshot()->settings->manifest, manifestBefore);
  QVERIFY(s.sound());
}

void SettingsTest::goesWithCapturesForksAndFiles() {
  QFETCH(QString, manifest);
  QFETCH(QString, rules);
  const QTemporaryDir folder;
  const json path{{"path", folder.filePath("saved").toStdString()}}, opening = json::parse(manifest.toStdString());
  const SessionFixture s(opening);
  fill(s);
  s.must("settings", json::parse(rules.toStdString()));
  goOn(s);
  const std::unique_ptr<Session> fork = s->fork().take();
  QCOMPARE(fork->snapshot()->settings->manifest, s->snapshot()->settings->manifest);
  s.must("saveCapture", path);
  const Result<Replay> replayed = replayCapture(path["path"], KVLAB_RESOURCES_DIR, {{}, true});
  QVERIFY(replayed && replayed->ok());
  QCOMPARE(stateHash(replayed->session->state(), replayed->session->store(), {}), s.hash());
  const SessionFixture other(s->snapshot()->settings->manifest);
  const bool native = s->manifest().keyPhase == "on_read";
  if (native) s.must("saveCache", path), other.must("loadCache", path), goOn(other);
  goOn(s);
  if (native) QCOMPARE(other.hash(), s.hash());
  QVERIFY(execute(*fork, "inject", {{"actions", edits()}}) && execute(*fork, "step", {{"n", 3}}));
  QCOMPARE(stateHash(fork->state(), fork->store(), {}), s.hash());
  QVERIFY(execute(*fork, "goto", {{"tick", 1}}));
  QCOMPARE(fork->snapshot()->settings->manifest, SessionFixture(opening)->snapshot()->settings->manifest);
}

void SettingsTest::rotatesOrRecomputes_data() {
  QTest::addColumn<QString>("from");
  QTest::addColumn<QString>("to");
  for (const char* from : {"context", "absolute", "cache"})
    for (const char* to : {"context", "absolute", "cache"})
      if (from != std::string(to)) QTest::addRow("%s to %s", from, to) << from << to;
}

/// Rows keep their keys and values. A rebuild then gives the rows of a session that was in the other mode all along.
void SettingsTest::rotatesOrRecomputes() {
  QFETCH(QString, from);
  QFETCH(QString, to);
  const SessionFixture s(json{{"position", from.toStdString()}}), other(json{{"position", to.toStdString()}});
  fill(s);
  const std::string rows = s.rows();
  s.must("settings", {{"position", to.toStdString()}});
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

void SettingsTest::refusesAndChangesNothing_data() {
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
  QTest::newRow("a key that stays beside keys that change")
      << "{}"
      << R"({"layout":"paged","kv":{"k":"int8"},"ring":{"window":7}})"
      << "ring.window";
  QTest::newRow("a capacity below the rows beside a policy") << "{}"
                                                             << R"({"policy":"h2o","layout":"paged","capacity":3})"
                                                             << "capacity";
  QTest::newRow("a policy that asks for heads") << "{}"
                                                << R"({"layout":"paged","policy":"adakv:capacity=10,window=2"})"
                                                << "policy.head_budget";
  QTest::newRow("a layer that is not there") << "{}"
                                             << R"({"layout":"paged","layers":[{"match":"1-9","policy":"h2o"}]})"
                                             << "layers";
  QTest::newRow("a window of a layer") << "{}"
                                       << R"({"layout":"paged","layers":[{"match":1,"window":8}]})"
                                       << "layers";
  QTest::newRow("nothing") << "{}"
                           << R"({})"
                           << "args";
  QTest::newRow("selective by head") << R"({"residency":"kv_head"})"
                                     << R"({"after_edit":"selective"})"
                                     << "after_edit";
}

void SettingsTest::refusesAndChangesNothing() {
  QFETCH(QString, manifest);
  QFETCH(QString, rules);
  QFETCH(QString, field);
  const SessionFixture s(json::parse(manifest.toStdString()));
  s.prompt(24);
  const std::string before = s.hash();
  const json manifestBefore = s->snapshot()->settings->manifest;
  const int entries = s->timeline().size();
  json wanted = json::parse(rules.toStdString());
  if (!wanted.empty()) wanted["executor"] = wanted.value("executor", "descending");
  const Result<json> result = s.verb("settings", wanted);
  QVERIFY(!result);
  QCOMPARE(QString::fromStdString(result.error().field), field);
  QVERIFY(!result.error().remedy.empty());
  QCOMPARE(s.hash(), before);
  QCOMPARE(s->snapshot()->settings->manifest, manifestBefore);
  QCOMPARE(s->timeline().size(), entries);
  QVERIFY(s.sound());
}

void SettingsTest::startsTheRandomNumbersAnew() {
  const SessionFixture s(json{{"sampling", {{"temperature", 1.0}}}});
  s.prompt(12);
  s.must("step", {{"n", 3}});
  s.must("settings", {{"sampling", {{"seed", 77}}}});
  QCOMPARE(s->state().random[0], 77u);
  QCOMPARE(s->state().random[1], 0u);
  s.must("step");
  s.must("settings", {{"sampling", {{"top_k", 5}}}});
  QCOMPARE(s->state().random[0], 77u);
  QCOMPARE(s->state().random[1], 1u);
}

void SettingsTest::changesTheSizeOfBlocks() {
  const SessionFixture s(json{{"layout", "ring_fused"}, {"ring", {{"window", 16}}}});
  s.prompt(24);
  s.must("settings", {{"ring", {{"block_tokens", 3}}}});
  QCOMPARE(s->manifest().ring.window, 16);
  QCOMPARE(s.must("step")[0]["block"].size(), 3u);
  s.must("settings", {{"ring", {{"block_tokens", 1}}}});
  QCOMPARE(s.must("step")[0]["block"].size(), 1u);
  QVERIFY(s.sound());
}

/// Level off finds no damage, level full finds it in the tick behind it.
void SettingsTest::checksAsMuchAsTheRulesSay() {
  const SessionFixture s(json{{"faults", true}, {"check", {{"level", "off"}}}});
  s.prompt(24);
  s.must("fault", {{"kind", "value_bit"}, {"layer", 0}, {"index", 1}});
  QVERIFY(s.must("step")[0]["violations"].empty());
  s.must("settings", {{"check", {{"level", "full"}}}});
  QVERIFY(!s.must("step")[0]["violations"].empty());
}

KV_TEST(SettingsTest)
#include "settings_test.moc"
