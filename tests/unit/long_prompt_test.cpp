// SPDX-License-Identifier: Apache-2.0
// A long prompt takes several ticks. Cut short, it keeps the ticks that are done, and going on leads to the same rows.
#include "support/session_fixture.h"

#include "core/verbs/capture_session.h"
#include "support/runner.h"

#include <QTemporaryDir>

using namespace kvlab;

namespace {

constexpr int kPiece = 1024, kTokens = 2500;

json large(json changes = json::object()) {
  changes.update({{"capacity", 3000}, {"staging", 64}});
  return changes;
}

/// Cancels as soon as so many tokens are done.
void cancelAfter(const SessionFixture& s, std::int64_t tokens) {
  s->setProgress([=](const std::string&, std::int64_t done, std::int64_t) { return done < tokens; });
}

std::vector<int> from(const std::vector<int>& ids, int begin) { return {ids.begin() + begin, ids.end()}; }

}  // namespace

class LongPromptTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void cancelKeepsWhatIsDone_data();
  void cancelKeepsWhatIsDone();
  void progressCountsThePrompt();
  void firstPieceLeavesNothing();
  void replays();
  void whatCannotFitIsRefusedWhole();
  void scores();
};

void LongPromptTest::cancelKeepsWhatIsDone_data() {
  QTest::addColumn<QString>("changes");
  QTest::newRow("plain") << "{}";
  QTest::newRow("policy by head") << R"({"policy": "snapkv:ratio=0.5", "residency": "kv_head"})";
  QTest::newRow("h2o") << R"({"policy": "h2o:ratio=0.5"})";
  QTest::newRow("ring") << R"({"layout": "ring_fused", "ring": {"window": 64}})";
  QTest::newRow("paged int8") << R"({"layout": "paged", "kv": {"k": "int8", "v": "int8"}})";
}

void LongPromptTest::cancelKeepsWhatIsDone() {
  QFETCH(QString, changes);
  const json manifest = large(json::parse(changes.toStdString()));
  const std::vector<int> ids = SessionFixture::ids(kTokens);
  const SessionFixture cut(manifest), whole(manifest), parts(manifest);
  cancelAfter(cut, kPiece + 100);
  const Result<json> stopped = cut.verb("promptIds", {{"ids", ids}});
  QVERIFY(!stopped);
  QCOMPARE(stopped.error().code, std::string("cancelled"));
  QVERIFY2(stopped.error().text().find("1024 of 2500 tokens") != std::string::npos, stopped.error().text().c_str());
  QCOMPARE(cut->state().length(), kPiece);
  parts.must("prefill", {{"ids", std::vector<int>(ids.begin(), ids.begin() + kPiece)}, {"last", false}});
  QCOMPARE(cut.hash(), parts.hash());
  QVERIFY(cut->check(true).size() > 0);
  cut->setProgress({});
  cut.must("promptIds", {{"ids", from(ids, kPiece)}});
  whole.must("promptIds", {{"ids", ids}});
  QCOMPARE(cut.hash(), whole.hash());
  QCOMPARE(cut.must("step", {{"n", 3}})[2]["token"], whole.must("step", {{"n", 3}})[2]["token"]);
}

void LongPromptTest::progressCountsThePrompt() {
  const SessionFixture s(large());
  std::vector<std::int64_t> seen;
  bool right = true;
  s->setProgress([&](const std::string&, std::int64_t done, std::int64_t total) {
    right = right && total == kTokens;
    seen.push_back(done);
    return true;
  });
  const json report = s.must("promptIds", {{"ids", SessionFixture::ids(kTokens)}});
  QVERIFY(right && std::is_sorted(seen.begin(), seen.end()) && seen.back() >= 2 * kPiece);
  QCOMPARE(report["actions"].size(), std::size_t(kTokens));
  QCOMPARE(s->state().tick, Tick(3));
}

void LongPromptTest::firstPieceLeavesNothing() {
  const SessionFixture s(large());
  s.prompt(5);
  const std::string before = s.hash();
  cancelAfter(s, 1);
  QCOMPARE(s.verb("promptIds", {{"ids", SessionFixture::ids(kTokens)}}).error().code, std::string("cancelled"));
  QCOMPARE(s.hash(), before);
}

void LongPromptTest::replays() {
  QTemporaryDir folder;
  const std::string file = folder.filePath("cut.kvcap").toStdString();
  const SessionFixture s(large());
  cancelAfter(s, kPiece + 100);
  QVERIFY(!s.verb("promptIds", {{"ids", SessionFixture::ids(kTokens)}}));
  s->setProgress({});
  s.must("step", {{"n", 2}});
  s.must("saveCapture", {{"path", file}});
  const Result<Replay> again = replayCapture(file, KVLAB_RESOURCES_DIR, {}, {});
  QVERIFY2(again, again ? "" : again.error().text().c_str());
  QCOMPARE(stateHash(again->session->state(), again->session->store(), {}), s.hash());
  // Undo goes back tick by tick, and forward again.
  const std::string end = s.hash();
  for (int i = 0; i < 3; ++i) s.must("undo");
  QCOMPARE(s->state().length(), 0);
  for (int i = 0; i < 3; ++i) s.must("redo");
  QCOMPARE(s.hash(), end);
}

void LongPromptTest::whatCannotFitIsRefusedWhole() {
  const SessionFixture s(json{{"capacity", 2000}});
  const std::string before = s.hash();
  QCOMPARE(s.verb("promptIds", {{"ids", SessionFixture::ids(kTokens)}}).error().code, std::string("capacity"));
  QCOMPARE(s.hash(), before);
}

void LongPromptTest::scores() {
  const std::vector<int> ids = SessionFixture::ids(kTokens);
  const SessionFixture whole(large()), each(large());
  const json one = whole.must("scoreIds", {{"ids", ids}});
  QCOMPARE(one["scored"], kTokens - 1);
  const std::vector<int> head(ids.begin(), ids.begin() + kPiece + 8);
  const json single = each.must("scoreIds", {{"ids", head}, {"each", true}});
  for (std::size_t i = 1; i < head.size(); ++i) QCOMPARE(one["losses"][i], single["losses"][i]);
  const SessionFixture cut(large());
  cancelAfter(cut, kPiece);
  const json stopped = cut.must("scoreIds", {{"ids", ids}});
  QCOMPARE(stopped["error"]["code"], "cancelled");
  QCOMPARE(stopped["scored"], kPiece - 1);
}

KV_TEST(LongPromptTest)
#include "long_prompt_test.moc"
