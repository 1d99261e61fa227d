// SPDX-License-Identifier: Apache-2.0
// The work of one command is one edit: undo and redo go over edits, name them, and still go by commits.
#include "core/session/edit_words.h"
#include "support/runner.h"
#include "support/scripted_session.h"

using namespace kvlab;
using namespace kvlab::test;

class EditsTest : public QObject {
  Q_OBJECT
 private:
  static QStringList titles(Session& s, const char* list) {
    QStringList out;
    for (const json& edit : call(s, "edits"))
      if (edit["way"] == list) out << QString::fromStdString(edit["title"]);
    return out;
  }
  static std::string hash(Session& s) { return call(s, "stateHash"); }

 private Q_SLOTS:
  void aCommandIsAnEditAndPlainTicksAreOne();
  void goesBackAndForwardByEdit();
  void aTickStaysATick();
  void partOfAnEditIsTakenBack();
  void aBranchBeginsInsideAnEdit();
  void manyTicksAreNotWalked();
};

void EditsTest::aCommandIsAnEditAndPlainTicksAreOne() {
  const auto s = opened(tinyManifest());
  QCOMPARE(codeOf(*s, "undo", {{"by", "edit"}}), std::string("nothing_to_undo"));
  call(*s, "promptIds", {{"ids", someIds(24, 200, 1)}});
  for (int i = 0; i < 2; ++i) call(*s, "step");
  call(*s, "step", {{"n", nullptr}});  // as if left out
  call(*s, "step", {{"n", 4}});
  call(*s, "run", {{"maxTicks", 5}});
  call(*s, "run", {{"maxTicks", 2}});
  call(*s, "step");
  call(*s, "inject", {{"actions", {{{"action", "delete"}, {"position", 3}}, {{"action", "delete"}, {"position", 5}}}}});
  call(*s, "step");
  call(*s, "settings", {{"layout", "paged"}});
  call(*s, "settings", {{"layers", json::array({{{"match", 0}, {"kv", {{"k", "f16"}}}}})}});
  call(*s, "settings", {{"policy", "h2o:ratio=0.9"}});
  call(*s, "rebuild");
  QStringList all = titles(*s, "undo");
  QVERIFY2(all.size() == 11, qPrintable(all.join("; ")));
  QVERIFY2(all[4].startsWith("delete “") && all[4].endsWith("” and 1 more and 1 tick"), qPrintable(all[4]));
  all.removeAt(4);
  QCOMPARE(all.join("; "),
           QString("rebuild; policy h2o:ratio=0.9; format K f16 of layer 0; layout paged; 1 tick; run of 2 ticks; "
                   "run of 5 ticks; 4 ticks; 3 ticks; prompt of 24 tokens"));
  QCOMPARE(titles(*s, "redo"), QStringList());
}

void EditsTest::goesBackAndForwardByEdit() {
  const auto s = opened(tinyManifest());
  std::vector<std::string> hashes{hash(*s)};
  call(*s, "promptIds", {{"ids", someIds(24, 200, 1)}});
  hashes.push_back(hash(*s));
  call(*s, "run", {{"maxTicks", 6}});
  hashes.push_back(hash(*s));
  for (int i = 0; i < 4; ++i) call(*s, "step");
  hashes.push_back(hash(*s));
  for (std::size_t i = hashes.size() - 1; i-- > 0;) {
    call(*s, "undo", {{"by", "edit"}});
    QCOMPARE(hash(*s), hashes[i]);
  }
  QCOMPARE(titles(*s, "redo"), QStringList({"prompt of 24 tokens", "run of 6 ticks", "4 ticks"}));
  call(*s, "redo", {{"by", "edit"}, {"n", 2}});
  QCOMPARE(hash(*s), hashes[2]);
  QCOMPARE(titles(*s, "undo"), QStringList({"run of 6 ticks", "prompt of 24 tokens"}));
  QCOMPARE(codeOf(*s, "redo", {{"by", "edit"}, {"n", 2}}), std::string("out_of_range"));
  QCOMPARE(codeOf(*s, "undo", {{"by", "edit"}, {"n", 3}}), std::string("out_of_range"));
  QCOMPARE(hash(*s), hashes[2]);
  call(*s, "redo", {{"by", "edit"}});
  QCOMPARE(hash(*s), hashes[3]);
}

void EditsTest::aTickStaysATick() {
  const auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", someIds(24, 200, 1)}});
  call(*s, "run", {{"maxTicks", 6}});
  call(*s, "undo");
  QCOMPARE(s->state().tick, Tick(6));
  call(*s, "undo", {{"n", 3}});
  QCOMPARE(s->state().tick, Tick(3));
  call(*s, "redo");
  QCOMPARE(s->state().tick, Tick(4));
}

void EditsTest::partOfAnEditIsTakenBack() {
  const auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", someIds(24, 200, 1)}});
  call(*s, "run", {{"maxTicks", 6}});
  call(*s, "undo", {{"n", 2}});
  QCOMPARE(titles(*s, "undo").first(), QString("run of 4 ticks"));
  QCOMPARE(titles(*s, "redo"), QStringList({"run of 6 ticks"}));
  call(*s, "undo", {{"by", "edit"}});
  QCOMPARE(s->state().tick, Tick(1));
}

void EditsTest::aBranchBeginsInsideAnEdit() {
  const auto s = opened(tinyManifest());
  call(*s, "promptIds", {{"ids", someIds(24, 200, 1)}});
  for (int i = 0; i < 5; ++i) call(*s, "step");
  call(*s, "undo", {{"n", 3}});
  call(*s, "step");
  QCOMPARE(titles(*s, "undo"), QStringList({"3 ticks", "prompt of 24 tokens"}));
  QCOMPARE(titles(*s, "redo"), QStringList());
  call(*s, "undo", {{"by", "edit"}});
  QCOMPARE(titles(*s, "redo"), QStringList({"3 ticks"}));
}

/// 100 000 ticks in the time line: a list and a step over all of them take no longer than over few.
void EditsTest::manyTicksAreNotWalked() {
  const auto s = opened(tinyManifest());
  Timeline line;
  line.start(s->state(), 0);
  for (int i = 0; i < 100000; ++i)
    line.push({.verb = i % 1000 == 0 ? "rebuild" : "step", .args = {}, .tick = Tick(i), .words = ""});
  QElapsedTimer clock;
  clock.start();
  for (int i = 0; i < 1000; ++i) QCOMPARE(editsBack(line, 10).size(), std::size_t{10});
  line.select(1);
  for (int i = 0; i < 1000; ++i) QCOMPARE(editsAhead(line, 10).size(), std::size_t{10});
  QVERIFY2(clock.elapsed() < 2000, qPrintable(QString::number(clock.elapsed())));
}

KV_TEST(EditsTest)
#include "edits_test.moc"
