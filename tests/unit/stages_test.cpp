// SPDX-License-Identifier: Apache-2.0
// A tick that is stopped between its stages ends as the whole tick does, and a tick that is thrown away leaves nothing.
#include "support/session_fixture.h"

#include <QTemporaryDir>

#include "core/verbs/capture_session.h"
#include "support/runner.h"
#include "support/session_digest.h"

using namespace kvlab;

namespace {

constexpr std::pair<const char*, const char*> kStaged[] = {
    {"indirection", R"({})"},
    {"contiguous_splice", R"({"layout":"contiguous_splice"})"},
    {"batch_splice", R"({"layout":"batch_splice","executor":"descending"})"},
    {"boolean_gather", R"({"layout":"boolean_gather"})"},
    {"paged", R"({"layout":"paged:block=4"})"},
    {"blocks", R"({"ring":{"block_tokens":3}})"},
    {"blocks in place", R"({"layout":"batch_splice","ring":{"block_tokens":3}})"},
    {"blocks in pages", R"({"layout":"paged:block=4","ring":{"block_tokens":3}})"},
    {"ring_roll", R"({"layout":"ring_roll","ring":{"window":16,"block_tokens":3}})"},
    {"ring_pointer", R"({"layout":"ring_pointer","ring":{"window":16,"block_tokens":3}})"},
    {"ring_lut", R"({"layout":"ring_lut","ring":{"window":16,"block_tokens":3},"kv":{"k":"int8","v":"int8"}})"},
    {"ring_block_roll", R"({"layout":"ring_block_roll","ring":{"window":16,"block_tokens":3}})"},
    {"ring_fused", R"({"layout":"ring_fused","ring":{"window":16,"block_tokens":3}})"},
    {"keys at write", R"({"key_phase":"at_write","ring":{"block_tokens":2}})"},
    {"absolute", R"({"position":"absolute","executor":"descending","after_edit":"recompute"})"},
    {"policy", R"({"policy":"h2o:capacity=16,window=4"})"},
    {"policy and blocks", R"({"policy":"h2o:capacity=16,window=4","ring":{"block_tokens":2}})"},
    {"by head", R"({"policy":"brightness:capacity=16","residency":"kv_head"})"},
    {"culling", R"({"brightness":{"compressor":"nearest","target":20,"min_cosine":-1}})"},
    {"sampled", R"({"sampling":{"temperature":0.9},"op_events":true})"},
    {"wLOD", R"({"wlod":{"budget":96,"every":1},"capacity":0})"}};

json openingOf(const QString& manifest) { return json::parse(manifest.toStdString()); }

void fillSession(const SessionFixture& s) {
  s.prompt(25);
  s.must("step", {{"n", 2}});
}

void queueEdits(const SessionFixture& s) {
  if (s->manifest().wlod) return;
  s.must("inject",
         {{"actions",
           {{{"action", "replace_pair"}, {"original_pos1", 12}, {"original_pos2", 13}, {"new_token_ids", {7}}},
            {{"action", "delete"}, {"position", 14}},
            {{"action", "replace"}, {"positions", {16}}, {"new_token_ids", {9}}}}}});
}

/// The free slots, and the reports of rings.
json places(const SessionFixture& s) {
  json out = json::array();
  for (int layer = 0; layer < s->cacheLayers().layers; ++layer) {
    json args{{"layer", layer}, {"free", true}};
    if (s->cacheLayers().byHead()) args["kvHead"] = 0;
    json one = s.must("storage", args);
    one.erase("counts");
    one.erase("advice");
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

class StagesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void endsAsTheWholeTick_data();
  void endsAsTheWholeTick();
  void leavesNothingWhenCancelled_data() { endsAsTheWholeTick_data(); }
  void leavesNothingWhenCancelled();
  void staysWhereItsNextStepFails_data() { endsAsTheWholeTick_data(); }
  void staysWhereItsNextStepFails();
  void refusesOtherChanges();
  void goesIntoHistoryAsAStep_data() { endsAsTheWholeTick_data(); }
  void goesIntoHistoryAsAStep();
  void stopsAtBreakpoints();
  void stopsBeforePoliciesDropRows_data();
  void stopsBeforePoliciesDropRows();
  void theEndOfAPromptIsSteppedInto();
  void promptsStopWherePoliciesPrune();
  void runsGiveBackTheLastReports();
  void showsActionsOneByOne_data();
  void showsActionsOneByOne();
  void showsWaitingRows_data();
  void showsWaitingRows();
  void showsPlannedRows_data();
  void showsPlannedRows();
  void refusesWithoutAnOpenTick();
};

void StagesTest::endsAsTheWholeTick_data() {
  QTest::addColumn<QString>("manifest");
  for (const auto& [name, manifest] : kStaged) QTest::newRow(name) << manifest;
}

void StagesTest::endsAsTheWholeTick() {
  QFETCH(QString, manifest);
  const SessionFixture whole(openingOf(manifest)), staged(openingOf(manifest));
  for (const SessionFixture* s : {&whole, &staged}) fillSession(*s);
  for (int round = 0; round < 6; ++round) {
    if (round % 3 == 1)
      for (const SessionFixture* s : {&whole, &staged}) queueEdits(*s);
    const std::string before = staged.hash();
    const json expected = whole.must("step")[0];
    json report = staged.must("stepStage");
    while (!report["stage"].is_null()) {
      const bool committed = report["stage"]["stage"] == "apply";
      if (!committed) QCOMPARE(staged.hash(), before);
      QCOMPARE(staged.must("stage"), report["stage"]);
      QVERIFY(staged->snapshot()->stage);
      QVERIFY(staged.sound());
      report = round % 2 ? staged.must("finishTick") : staged.must("stepStage");
      if (!report.contains("stage")) break;
    }
    QCOMPARE(staged.must("stage"), json());
    QCOMPARE(timeless(report), timeless(expected));
    QCOMPARE(staged.hash(), whole.hash());
    QCOMPARE(staged.must("pos2ledger"), whole.must("pos2ledger"));
    QCOMPARE(staged->pending().size(), whole->pending().size());
  }
  QCOMPARE(places(staged), places(whole));
  QVERIFY(staged.sound());
}

/// Thrown away after each number of stages.
void StagesTest::leavesNothingWhenCancelled() {
  QFETCH(QString, manifest);
  const SessionFixture whole(openingOf(manifest)), s(openingOf(manifest));
  for (const SessionFixture* one : {&whole, &s}) fillSession(*one), queueEdits(*one);
  const std::string before = s.hash();
  const json slots = places(s);
  const int entries = s->timeline().size();
  const std::size_t pending = s->pending().size();
  for (int stages = 1;; ++stages) {
    json stage;
    for (int i = 0; i < stages; ++i) stage = s.must("stepStage")["stage"];
    if (stage["stage"] == "apply") break;
    s.must("cancelTick");
    QCOMPARE(s.hash(), before);
    QCOMPARE(places(s), slots);
    QCOMPARE(s->timeline().size(), entries);
    QCOMPARE(s->pending().size(), pending);
    QVERIFY(!s->snapshot()->stage && s.sound());
  }
  QCOMPARE(s.verb("cancelTick").error().code, std::string("tick_committed"));
  s.must("finishTick");
  whole.must("step");
  QCOMPARE(s.hash(), whole.hash());
  QCOMPARE(places(s), places(whole));
}

/// A refused call has changed nothing: the tick is open, as it was, and ends as the whole tick does.
void StagesTest::staysWhereItsNextStepFails() {
  QFETCH(QString, manifest);
  json opening = openingOf(manifest);
  opening["faults"] = true;
  const SessionFixture whole(opening);
  fillSession(whole);
  queueEdits(whole);
  whole.must("step");
  int failed = 0;
  for (int stages = 1; stages < 40; ++stages) {
    const SessionFixture s(opening);
    fillSession(s);
    queueEdits(s);
    for (int i = 0; i < stages; ++i) s.must("stepStage");
    if (!s->stage()) break;
    const json stage = s.must("stage");
    const std::string hash = s.hash();
    const json free = places(s);
    for (const char* verb : {"finishTick", "stepStage"})
      for (const FaultPoint point : {FaultPoint::Kernel, FaultPoint::Allocation, FaultPoint::Copy}) {
        if (point == FaultPoint::Copy && s->parts().layouts.inPlace()) continue;  // a rebuild repairs moved rows
        s->parts().faults.arm(point, 1);
        const Result<json> done = s.verb(verb);
        const bool armed = s->parts().faults.armed();
        s->parts().faults.disarm();
        if (armed) {  // there was no such step, and the tick went on
          if (done) goto ended;
          continue;
        }
        ++failed;
        const bool refused = !done || !done->value("ok", true);
        QVERIFY2(refused && s->stage(), verb);
        QCOMPARE(QByteArray::fromStdString(s.must("stage").dump()), QByteArray::fromStdString(stage.dump()));
        QCOMPARE(s.hash(), hash);
        QCOMPARE(QByteArray::fromStdString(places(s).dump()), QByteArray::fromStdString(free.dump()));
      }
  ended:
    if (s->stage()) s.must("finishTick");
    QCOMPARE(s.hash(), whole.hash());
    QVERIFY2(s.damage().isEmpty(), s.damage());
  }
  QVERIFY(failed > 3);
}

void StagesTest::refusesOtherChanges() {
  const SessionFixture s(json{{"ring", {{"block_tokens", 3}}}});
  fillSession(s);
  queueEdits(s);
  for (int i = 0; i < 6; ++i) s.must("stepStage");
  const std::string before = s.hash();
  const json slots = places(s);
  for (const auto& [verb, args] : std::initializer_list<std::pair<const char*, json>>{
           {"step", json::object()},
           {"run", json::object()},
           {"apply", json::object()},
           {"stepAction", json::object()},
           {"promptIds", {{"ids", {5}}}},
           {"inject", {{"actions", {{{"action", "delete"}, {"position", 1}}}}}},
           {"clearPending", json::object()},
           {"pin", {{"ledger", 1}}},
           {"settings", {{"layout", "ring_lut"}}},
           {"settings", {{"executor", "descending"}}},
           {"compact", json::object()},
           {"rebuild", json::object()},
           {"undo", json::object()},
           {"redo", json::object()},
           {"goto", {{"tick", 1}}},
           {"reset", json::object()},
           {"startCapture", {{"path", "nowhere"}}}}) {
    const Result<json> result = s.verb(verb, args);
    QVERIFY2(!result, verb);
    QCOMPARE(result.error().code, std::string("tick_open"));
    QVERIFY(result.error().remedy.find("finishTick") != std::string::npos &&
            result.error().remedy.find("cancelTick") != std::string::npos);
  }
  for (const char* verb : {"drift", "topk", "logits", "bytes", "tokens", "invariants"}) s.must(verb);
  s.must("break", {{"condition", "length > 4000"}});
  s.must("changeBreak", {{"id", 1}, {"enabled", false}});
  s.must("clearBreaks");
  for (const VerbInfo& verb : verbs())
    if (verb.effect == Effect::Marks) QVERIFY2(verb.inOpenTick(), verb.name.c_str());
  const Result<std::unique_ptr<Session>> fork = s->fork();
  QVERIFY(fork);
  QCOMPARE(stateHash((*fork)->state(), (*fork)->store(), {}), before);
  QCOMPARE((*fork)->pending().size(), s->pending().size());
  QVERIFY(!(*fork)->stage());
  QCOMPARE(s.hash(), before);
  QCOMPARE(places(s), slots);
  QVERIFY(s->stage());
  const SessionFixture whole(json{{"ring", {{"block_tokens", 3}}}});
  fillSession(whole);
  queueEdits(whole);
  whole.must("step");
  s.must("finishTick");
  QCOMPARE(s.hash(), whole.hash());
  QVERIFY(s.sound());
}

void StagesTest::goesIntoHistoryAsAStep() {
  QFETCH(QString, manifest);
  const QTemporaryDir folder;
  const json path{{"path", folder.filePath("running").toStdString()}};
  const SessionFixture s(openingOf(manifest));
  s.must("startCapture", path);
  fillSession(s);
  const std::string before = s.hash();
  queueEdits(s);
  const json given = s->manifest().ring.blockTokens > 1 ? json{5, 6} : json{5};
  s.must("stepStage", {{"tokens", given}});
  s.must("stepStage");
  s.must("finishTick");
  const std::string first = s.hash();
  for (json report = s.must("stepStage"); !report["stage"].is_null();) report = s.must("stepStage");
  const std::string second = s.hash();
  s.must("undo");
  QCOMPARE(s.hash(), first);
  s.must("undo");
  QCOMPARE(s.hash(), before);
  s.must("redo");
  s.must("redo");
  QCOMPARE(s.hash(), second);
  s.must("stopCapture");
  const Result<Replay> replayed = replayCapture(path["path"], KVLAB_RESOURCES_DIR, {{}, true});
  QVERIFY(replayed && replayed->ok());
  QCOMPARE(stateHash(replayed->session->state(), replayed->session->store(), {}), second);
  QVERIFY(s.sound());
}

/// The reports of a long run need not come back.
void StagesTest::runsGiveBackTheLastReports() {
  const SessionFixture s{json::object()};
  fillSession(s);
  const json all = s.must("run", {{"maxTicks", 5}}), last = s.must("run", {{"maxTicks", 5}, {"reports", 2}});
  QCOMPARE(all["ticks"].size(), 5u);
  QCOMPARE(all["count"], 5);
  QCOMPARE(last["ticks"].size(), 2u);
  QCOMPARE(last["count"], 5);
  QCOMPARE(last["ticks"][1]["tick"], s.must("tick"));
}

void StagesTest::stopsAtBreakpoints() {
  const SessionFixture s(json{{"ring", {{"block_tokens", 2}}}}), whole(json{{"ring", {{"block_tokens", 2}}}});
  for (const SessionFixture* one : {&s, &whole}) fillSession(*one);
  s.must("break", {{"condition", "stage(token)"}});
  const json run = s.must("run", {{"maxTicks", 3}});
  QCOMPARE(run["stoppedBy"], "stage(token)");
  QCOMPARE(run["ticks"].size(), 0u);
  QCOMPARE(s.must("stage")["stage"], "token");
  s.must("finishTick");
  const json steps = s.must("step", {{"n", 2}});
  QCOMPARE(steps.size(), 1u);
  QCOMPARE(steps[0]["stoppedBy"], "stage(token)");
  QCOMPARE(steps[0]["stage"]["stage"], "token");
  s.must("clearBreaks");
  s.must("finishTick");
  whole.must("step", {{"n", 2}});
  QCOMPARE(s.hash(), whole.hash());
  QCOMPARE(s.verb("break", {{"condition", "stage(lunch)"}}).error().code, std::string("bad_condition"));
  s.must("break", {{"condition", " stage( plan ) "}});
  s.must("step");
  QCOMPARE(s.must("stage")["stage"], "plan");
}

void StagesTest::stopsBeforePoliciesDropRows_data() {
  QTest::addColumn<QString>("manifest");
  for (const auto& [name, manifest] : kStaged)
    if (QString(manifest).startsWith(R"({"policy")")) QTest::newRow(name) << manifest;
}

/// Behind the stage prune the decision is told as it is told when it is carried out, and every row is still there.
void StagesTest::stopsBeforePoliciesDropRows() {
  QFETCH(QString, manifest);
  const SessionFixture s(openingOf(manifest));
  fillSession(s);
  const std::string condition = "stage(prune) and evicted(layer==1)";
  s.must("break", {{"condition", condition}});
  QCOMPARE(s.must("run", {{"maxTicks", 40}})["stoppedBy"], condition);
  const json stage = s.must("stage");
  QCOMPARE(stage["stage"], "prune");
  QCOMPARE(stage["next"], "apply");
  std::map<int, std::vector<int>> leaving;  // by KV head; 0 where a layer's rows are shared
  for (const json& action : stage["actions"])
    if (action["action"] == "evict" && action["layer"] == 1)
      for (const json& row : action["ledger"]) leaving[action.value("kv_head", 0)].push_back(row);
  QVERIFY(!leaving.empty());
  const auto next = s->state().tick.value() + 1;
  const auto told = [&] { return s.must("decisions", {{"tick", next}, {"layer", 1}}); };
  const json open = told();
  std::map<int, std::vector<int>> dropped;
  for (const json& one : open)
    if (one["event"] == "dropped")
      dropped[one["kvHead"].is_null() ? 0 : one["kvHead"].get<int>()].push_back(one["ledger"]);
  QCOMPARE(dropped, leaving);
  for (const auto& [head, rows] : leaving)
    for (const int row : rows) {
      const ResidencyView& map = s->state().map(s->cacheLayers().of(Layer(1))[head]);
      QVERIFY(std::ranges::find(map.ledger.span(), LedgerId(row)) != map.ledger.span().end());
      const json life = s.must("decisions", {{"ledger", row}, {"layer", 1}});
      QCOMPARE(life.back()["tick"], next);
      QCOMPARE(life.back()["event"], "dropped");
    }
  QVERIFY(s.sound());
  s.must("finishTick");
  QCOMPARE(s.must("tick"), next);
  QCOMPARE(told(), open);
  for (const auto& [head, rows] : leaving)
    for (const int row : rows) {
      const ResidencyView& map = s->state().map(s->cacheLayers().of(Layer(1))[head]);
      QVERIFY(std::ranges::find(map.ledger.span(), LedgerId(row)) == map.ledger.span().end());
    }
}

/// The prompt that stands open ends in stages as endPrefill ends it, in history too.
void StagesTest::theEndOfAPromptIsSteppedInto() {
  const json policy{{"policy", "snapkv:capacity=16,window=4"}};
  const SessionFixture s(policy), whole(policy);
  for (const SessionFixture* one : {&s, &whole})
    one->must("prefill", {{"ids", SessionFixture::ids(40)}, {"last", false}});
  const std::string before = s.hash();
  json stage = s.must("stepStage")["stage"];
  QCOMPARE(stage["stage"], "plan");
  QCOMPARE(stage["next"], "prune");
  stage = s.must("stepStage")["stage"];
  QCOMPARE(stage["stage"], "prune");
  QVERIFY(stage["tokens"].empty() && !stage["actions"].empty());
  QCOMPARE(s.hash(), before);
  for (const json& one : s.must("decisions", {{"tick", s->state().tick.value() + 1}}))
    if (one["event"] != "computed") QCOMPARE(one["when"], "prompt");
  s.must("cancelTick");
  QCOMPARE(s.hash(), before);
  while (!s.must("stepStage")["stage"].is_null()) {
  }
  whole.must("endPrefill");
  QCOMPARE(s.hash(), whole.hash());
  const std::string after = s.hash();
  s.must("undo");
  QCOMPARE(s.hash(), before);
  s.must("redo");
  QCOMPARE(s.hash(), after);
  QCOMPARE(s.must("stepStage")["stage"]["stage"], "generate");  // the prompt has ended
}

/// A breakpoint inside a tick holds at the end of a prompt, which then is a command of its own.
void StagesTest::promptsStopWherePoliciesPrune() {
  const json opened{{"policy", "snapkv:capacity=16,window=4"}, {"history_bytes", 0}};  // history executes again
  const SessionFixture whole(opened);
  whole.must("prefill", {{"ids", SessionFixture::ids(40)}, {"last", false}});
  const std::string before = whole.hash();
  whole.must("endPrefill");
  const std::string after = whole.hash();
  for (const auto& [condition, stops] : {std::pair("stage(prune) and evicted(layer==1)", true),
                                         std::pair("stage(prune) and evicted(ledger==39)", false)}) {
    const SessionFixture s(opened);
    const QTemporaryDir folder;
    const std::string capture = folder.filePath("prompt.kvcap").toStdString();
    s.must("startCapture", {{"path", capture}});
    s.must("break", {{"condition", condition}});
    const json reply = s.must("promptIds", {{"ids", SessionFixture::ids(40)}});
    QCOMPARE(reply.contains("stoppedBy"), stops);
    if (stops) {
      QCOMPARE(reply["stoppedBy"], condition);
      QCOMPARE(reply["stage"]["stage"], "prune");
      QCOMPARE(s.hash(), before);
      QVERIFY(s.sound());
      s.must("finishTick");
    }
    QCOMPARE(s.hash(), after);
    s.must("clearBreaks");
    s.must("step");
    s.must("stopCapture");
    const Result<Replay> again = replayCapture(capture, KVLAB_RESOURCES_DIR, {.to = {}, .verify = true});
    QVERIFY(again && again->ok());
    s.must("undo", {{"n", 2}});
    QCOMPARE(s.hash(), before);
    s.must("redo");
    QCOMPARE(s.hash(), after);
  }
}

void StagesTest::showsActionsOneByOne_data() {
  QTest::addColumn<QString>("executor");
  QTest::addColumn<QList<int>>("lengths");
  // Before: 27 tokens. The pair becomes one, one leaves, one is replaced, and the new token comes last.
  QTest::newRow("batch") << "batch" << QList<int>{27, 26, 25, 25};
  QTest::newRow("descending") << "descending" << QList<int>{27, 27, 26, 25};
}

void StagesTest::showsActionsOneByOne() {
  QFETCH(QString, executor);
  QFETCH(QList<int>, lengths);
  const SessionFixture s(json{{"executor", executor.toStdString()}});
  fillSession(s);
  queueEdits(s);
  QList<int> seen;
  json stage = s.must("stepStage")["stage"];
  while (stage["next"] != "apply") {
    stage = s.must("stepStage")["stage"];
    if (stage["stage"] == "plan" || stage["stage"] == "action") {
      QCOMPARE(stage["shown"], seen.size());
      QCOMPARE(stage["of"], 4);
      seen.push_back(static_cast<int>(stage["context"].size()));
    }
  }
  QCOMPARE(seen, lengths);
  const json actions = stage["actions"];
  QCOMPARE(actions.size(), 4u);
  QCOMPARE(actions.back()["action"], "add");
  json shown = stage["context"];
  s.must("stepStage");
  const json after = s.must("pos2ledger");
  shown.push_back(after.back());  // the new token, the last action of the list
  QCOMPARE(shown, after);
}

void StagesTest::showsWaitingRows_data() {
  QTest::addColumn<QString>("manifest");
  for (const auto& [name, manifest] : kStaged)
    if (QString(manifest).contains("block_tokens\":3")) QTest::newRow(name) << manifest;
}

void StagesTest::showsWaitingRows() {
  QFETCH(QString, manifest);
  const SessionFixture s(openingOf(manifest));
  fillSession(s);
  queueEdits(s);
  const json plain{{"layer", 1}}, both{{"layer", 1}, {"view", "committed_plus_pending"}};
  const json committed = s.must("rows", plain);
  const int length = s->state().length();
  QCOMPARE(s.must("rows", both), committed);
  int tokens = 0;
  json waiting;
  for (json report = s.must("stepStage"); report["stage"]["stage"] != "apply"; report = s.must("stepStage")) {
    tokens += report["stage"]["stage"] == "token";
    QCOMPARE(s.must("rows", plain), committed);
    const json now = s.must("rows", both);
    if (report["stage"]["stage"] == "observe" && tokens == 0) QCOMPARE(now, committed);
    if (report["stage"]["stage"] != "token") continue;
    QCOMPARE(now.back()["tokenId"], report["stage"]["tokens"].back());
    QCOMPARE(now.back()["position"], length - 2 + tokens - 1);  // two tokens less by the edits
    if (tokens == 2) QCOMPARE(now[now.size() - 2]["checksum"], waiting.back()["checksum"]);
    waiting = now;
    if (const json ring = s.must("ring", plain); !ring.is_null()) {
      QCOMPARE(ring["views"]["committed"][1], length);
      QCOMPARE(ring["views"]["committed_plus_pending"][1], length - 2 + tokens);
    }
  }
  QCOMPARE(tokens, 2);
  const json after = s.must("rows", both);
  QCOMPARE(after, s.must("rows", plain));
  QCOMPARE(after[after.size() - 2]["checksum"], waiting.back()["checksum"]);
}

void StagesTest::showsPlannedRows_data() {
  QTest::addColumn<QString>("manifest");
  for (const char* layout : {"indirection", "batch_splice", "paged:block=4", "ring_roll", "ring_pointer", "ring_lut",
                             "ring_block_roll", "ring_fused"})
    for (const char* more : {R"("position":"context")", R"("position":"cache","executor":"descending")"})
      QTest::addRow("%s %s", layout, more) << QString(R"({"layout":"%1","ring":{"window":16},%2})").arg(layout, more);
}

/// Behind the plan the view has the rows that the commit brings, the new ones without slots.
void StagesTest::showsPlannedRows() {
  QFETCH(QString, manifest);
  const SessionFixture s(openingOf(manifest));
  fillSession(s);
  s.must("evict", {{"layer", 1}, {"ledger", {13, 19}}, {"now", true}});
  queueEdits(s);
  const json both{{"layer", 1}, {"view", "committed_plus_pending"}};
  while (s.must("stepStage")["stage"]["next"] != "apply") {
  }
  const json planned = s.must("rows", both);
  s.must("finishTick");
  const json after = s.must("rows", both);
  QVERIFY(planned.size() >= after.size());  // the window moves with the commit
  int fresh = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const json& one = planned[planned.size() - after.size() + i];
    for (const char* key : {"index", "ledger", "position", "phase", "tokenId"}) QCOMPARE(one[key], after[i][key]);
    fresh += one["slot"].is_null() && one["checksum"].is_null();
    if (!one["slot"].is_null()) QCOMPARE(one["checksum"], after[i]["checksum"]);
  }
  QCOMPARE(fresh, 3);
  QVERIFY(s.sound());
}

void StagesTest::refusesWithoutAnOpenTick() {
  const SessionFixture s;
  QCOMPARE(s.must("stage"), json());
  for (const char* verb : {"finishTick", "cancelTick"})
    QCOMPARE(s.verb(verb).error().code, std::string("no_tick_open"));
  QCOMPARE(s.must("stepStage")["error"]["code"], "empty");
  fillSession(s);
  QVERIFY(!s.verb("stepStage", {{"tokens", {5, 6}}}));
  s.must("stepStage", {{"tokens", {5}}});
  QCOMPARE(s.verb("stepStage", {{"tokens", {5}}}).error().field, std::string("tokens"));
}

KV_TEST(StagesTest)
#include "stages_test.moc"
