// SPDX-License-Identifier: Apache-2.0
// Sequences of a batch are sessions like any other, whatever their neighbours do; a sequence that leaves disturbs no
// other.
#include "support/scripted_session.h"

#include "core/lanes/lane_verbs.h"
#include "core/session/truth.h"
#include "support/runner.h"

using namespace kvlab;
using namespace kvlab::test;

class BatchTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void areWhatTheyWouldBeAlone_data();
  void areWhatTheyWouldBeAlone();
  void readTheWeightsOnce();
  void whoIsFullLeaves();
  void whoseTextEndsLeaves();
  void refusedPromptsChangeNothing();
  void shareTheirPrefix();
  void promptedOnesCostWhatTheyWrite_data();
  void promptedOnesCostWhatTheyWrite();
  void releasedOnesAreGone();
  void goOnAfterAForkAndAlone();

 private:
  static std::unique_ptr<Batch> made(std::unique_ptr<Session> origin, int size, bool together = true) {
    Result<std::unique_ptr<Batch>> batch = Batch::around(origin, size, together);
    if (!batch) qFatal("%s", batch.error().text().c_str());
    return batch.take();
  }
  static json called(Batch& batch, const char* verb, const json& args = json::object()) {
    Result<json> r =
        test::scripted([&](const auto& name, const auto& of) { return execute(batch, name, of); }, verb, args);
    if (!r) qFatal("%s: %s", verb, r.error().text().c_str());
    return r.take();
  }
  static json of(int sequence, const char* verb, const json& args = json::object()) {
    return {{"sequence", sequence}, {"verb", verb}, {"args", args}};
  }
  static std::string codeIn(Batch& batch, const char* verb, const json& args) {
    const Result<json> r = execute(batch, verb, args);
    return r ? "" : r.error().code;
  }
};

void BatchTest::areWhatTheyWouldBeAlone_data() {
  QTest::addColumn<QString>("more");
  QTest::addColumn<bool>("together");
  QTest::newRow("together") << "{}" << true;
  QTest::newRow("apart") << "{}" << false;
  QTest::newRow("threads") << R"({"threads":4})" << true;
  QTest::newRow("ring") << R"({"layout":"ring_fused","ring":{"window":40},"kv":{"k":"int8","v":"int8"}})" << true;
  QTest::newRow("pages") << R"({"layout":"paged:block=4","executor":"descending","prefill_chunk":7})" << true;
}

/// Other seeds, policies, prompts of other lengths, an edit in one, an eviction in another.
void BatchTest::areWhatTheyWouldBeAlone() {
  QFETCH(QString, more);
  QFETCH(bool, together);
  json manifest = json::parse(more.toStdString());
  manifest["sampling"] = {{"temperature", 0.9}, {"seed", 1}};
  const auto begun = [&] {
    auto s = opened(tinyManifest(manifest));
    call(*s, "promptIds", {{"ids", someIds(30, 200, 3)}});
    return s;
  };
  const auto batch = made(begun(), 4, together);
  std::vector<std::unique_ptr<Session>> alone;
  for (int i = 0; i < 4; ++i) alone.push_back(begun());
  const auto both = [&](int i, const char* verb, const json& args) {
    called(*batch, "sequence", of(i, verb, args));
    call(*alone[at(i)], verb, args);
  };
  for (int i = 1; i < 4; ++i) both(i, "settings", {{"sampling", {{"temperature", 0.9}, {"seed", 40 + i}}}});
  both(1, "settings", {{"policy", "h2o:sinks=2,window=6,capacity=20"}});
  both(2, "settings", {{"policy", "streaming_llm:sinks=2,window=12"}});
  const json prompts{someIds(5, 200, 4), nullptr, someIds(17, 200, 5), someIds(1, 200, 6)};
  const json fed = called(*batch, "batchPrompts", {{"prompts", prompts}});
  for (const int i : {0, 2, 3}) call(*alone[at(i)], "promptIds", {{"ids", prompts[at(i)]}});
  QCOMPARE(fed["sequences"][1]["took"], json(false));
  QCOMPARE(fed["together"], json(together && alone[0]->transformer().backend().onHost()));
  for (int round = 0; round < 3; ++round) {
    both(3, "inject", {{"actions", {{{"action", "replace"}, {"positions", {9 + round}}, {"new_token_ids", {7, 9}}}}}});
    const LedgerId early = alone[0]->state().context[20];
    if (round == 1 && !more.contains("ring"))
      both(0, "evict", {{"layer", 1}, {"ledger", {early.value()}}, {"now", true}});
    for (const json& tick : called(*batch, "batchStep", {{"n", 3}})) QCOMPARE(tick["sequences"].size(), std::size_t{4});
    for (int i = 0; i < 4; ++i) {
      if (batch->exit(i)) QCOMPARE(QString::fromStdString(batch->exit(i)->why), QString("end_of_text"));
      else call(*alone[at(i)], "step", {{"n", 3}});
      if (batch->exit(i)) continue;
      QCOMPARE(stateHash(batch->session(i)), stateHash(*alone[at(i)]));
      QCOMPARE(*batch->session(i).state().logits, *alone[at(i)]->state().logits);
    }
  }
}

void BatchTest::readTheWeightsOnce() {
  auto origin = opened(tinyManifest());
  if (!origin->transformer().backend().onHost()) QSKIP("a device makes one pass per sequence");
  call(*origin, "promptIds", {{"ids", someIds(8, 200, 3)}});
  const auto one = made(opened(tinyManifest()), 1), five = made(std::move(origin), 5);
  one->prompt({someIds(8, 200, 3)});
  const BatchTick single = one->step({TokenId(9)}), tick = five->step({5, TokenId(9)});
  QVERIFY(tick.passes.together && !single.passes.together);
  QCOMPARE(tick.passes.weightBytes, single.passes.weightBytes);
  QCOMPARE(single.passes.apart, std::string("one session takes part"));
}

void BatchTest::whoIsFullLeaves() {
  auto origin = opened(tinyManifest({{"capacity", 20}}));
  const auto alone = opened(tinyManifest({{"capacity", 20}}));
  for (Session* s : {origin.get(), alone.get()}) call(*s, "promptIds", {{"ids", someIds(10, 200, 3)}});
  const auto batch = made(std::move(origin), 3);
  batch->prompt({nullptr, someIds(8, 200, 4), nullptr});
  for (int i = 0; i < 4; ++i) batch->step({3, TokenId(9)});
  for (int i = 0; i < 4; ++i) call(*alone, "step", {{"tokens", {9}}});
  QVERIFY(batch->exit(1) && batch->exit(1)->error && !batch->exit(0) && !batch->exit(2));
  QCOMPARE(batch->session(1).state().length(), 20);
  QCOMPARE(called(*batch, "batchReport")[1]["left"]["why"], json("error"));
  for (const int i : {0, 2}) QCOMPARE(stateHash(batch->session(i)), stateHash(*alone));
  called(*batch, "sequence", of(1, "inject", {{"now", true}, {"actions", {{{"action", "delete"}, {"position", 3}}}}}));
  QVERIFY(!batch->exit(1));  // it has room again
  QVERIFY(batch->step({3, TokenId(9)}).sequences[1].took);
  QVERIFY(!batch->exit(1));
}

void BatchTest::whoseTextEndsLeaves() {
  auto origin = opened(tinyManifest());
  call(*origin, "promptIds", {{"ids", someIds(10, 200, 3)}});
  const std::vector<TokenId> eos = origin->model().tokenizer().eos();
  if (eos.empty()) QSKIP("no token ends a text");
  const auto batch = made(std::move(origin), 2);
  batch->step({TokenId(9), eos.front()});
  QCOMPARE(called(*batch, "batchReport")[1]["left"]["why"], json("end_of_text"));
  QCOMPARE(called(*batch, "batchStep", {{"n", 2}}).size(), std::size_t{2});
  QCOMPARE(batch->session(1).state().length(), 11);
  batch->prompt({nullptr, someIds(2, 200, 4)});
  QVERIFY(!batch->exit(1) && batch->step({2, TokenId(9)}).sequences[1].took);
  batch->step({2, eos.front()});
  QVERIFY(!batch->steps());
  QCOMPARE(called(*batch, "batchStep", {{"n", 2}}).size(), std::size_t{0});
}

void BatchTest::refusedPromptsChangeNothing() {
  auto origin = opened(tinyManifest({{"capacity", 20}}));
  call(*origin, "promptIds", {{"ids", someIds(10, 200, 3)}});
  const auto batch = made(std::move(origin), 2);
  const std::string before = stateHash(batch->session(1));
  const BatchTick tick = batch->prompt({someIds(4, 200, 4), someIds(15, 200, 4)});
  QVERIFY(!tick.sequences[0].error && tick.sequences[1].error);
  QCOMPARE(tick.sequences[1].error->code, std::string("capacity"));
  QCOMPARE(stateHash(batch->session(1)), before);
  QVERIFY(!batch->exit(1));
  for (const json& bad : {json{{1}}, json{{1}, 5}, json{"a", {{"x", 1}}}})
    QCOMPARE(codeIn(*batch, "batchPrompts", {{"prompts", bad}}), std::string("bad_argument"));
  QCOMPARE(codeIn(*batch, "sequence", of(2, "tick")), std::string("bad_argument"));
}

void BatchTest::shareTheirPrefix() {
  auto origin = opened(tinyManifest({{"capacity", 4096}}));
  if (!origin->transformer().backend().onHost()) QSKIP("a device copies");
  call(*origin, "promptIds", {{"ids", someIds(1000, 200, 3)}});
  const std::int64_t one = call(*origin, "bytes")["own"];
  if (one == 0) QSKIP("the system does not tell which pages are written");
  const auto batch = made(std::move(origin), 8);
  const json before = called(*batch, "batchBytes");
  QVERIFY2(before["total"] <= one, before.dump().c_str());  // some large pages of `one` were not written whole
  QCOMPARE(before["copies"], json(8 * before["total"].get<std::int64_t>()));
  for (int i = 0; i < 3; ++i) batch->step({8, TokenId(9)});
  const json after = called(*batch, "batchBytes");
  QVERIFY2(after["total"] < 2 * one && after["total"] > before["total"], after.dump().c_str());
  for (const json& row : after["sequences"]) QVERIFY(row["own"] > 0 && row["own"] < row["shared"]);
}

void BatchTest::promptedOnesCostWhatTheyWrite_data() {
  QTest::addColumn<QString>("policy");
  QTest::addColumn<int>("history");  // bytes
  QTest::newRow("by layer") << "h2o:ratio=0.25" << (1 << 24);
  QTest::newRow("by head") << "adakv:ratio=0.25" << (1 << 24);
  QTest::newRow("in new pools") << "h2o:ratio=0.25"
                                << 0;  // the rows of a prompt of two parts lie behind the end of the small pool
}

/// The pools have shrunk to what the policy keeps, and grow for the prompt.
void BatchTest::promptedOnesCostWhatTheyWrite() {
  QFETCH(QString, policy);
  QFETCH(int, history);
  constexpr std::int64_t kPage = 4096;
  const json manifest{{"capacity", 4096}, {"history_bytes", history}, {"policy", policy.toStdString()}};
  auto origin = opened(tinyManifest(manifest));
  const auto alone = opened(tinyManifest(manifest));
  if (!origin->transformer().backend().onHost()) QSKIP("a device copies");
  call(*origin, "promptIds", {{"ids", someIds(1500, 200, 3)}});
  if (call(*origin, "bytes")["own"] == 0) QSKIP("the system does not tell which pages are written");
  const auto batch = made(std::move(origin), 3);
  const std::vector<std::int32_t> rows = pooledRows(batch->session(0));
  const json before = called(*batch, "batchBytes");
  batch->prompt({someIds(2, 200, 4), someIds(2, 200, 5), nullptr});
  QVERIFY(pooledRows(batch->session(0)) != rows);
  QVERIFY(pooledRows(batch->session(2)) == rows);
  const json after = called(*batch, "batchBytes");
  const std::int64_t most = 3 * kPage * std::ssize(rows);  // a page for each row, and one at a border
  for (const int i : {0, 1}) {
    const std::int64_t own = after["sequences"][at(i)]["own"], shared = after["sequences"][at(i)]["shared"];
    QVERIFY2(own > 0 && own <= most && shared > 0, after.dump().c_str());
  }
  QVERIFY2(after["total"] <= before["total"].get<std::int64_t>() + 2 * most, after.dump().c_str());
  for (const json& ids : {json(someIds(1500, 200, 3)), json(someIds(2, 200, 4))})
    call(*alone, "promptIds", {{"ids", ids}});
  QCOMPARE(stateHash(batch->session(0)), stateHash(*alone));
  QCOMPARE(broken(*alone), QString());
}

void BatchTest::releasedOnesAreGone() {
  auto origin = opened(tinyManifest());
  call(*origin, "promptIds", {{"ids", someIds(10, 200, 3)}});
  const auto batch = made(std::move(origin), 3);
  int published = 0;
  batch->setPublish([&](const SnapshotPtr&) { ++published; });
  const std::uint64_t serial = batch->snapshot()->serial;
  called(*batch, "batchRelease", {{"sequence", 0}});  // the passes used its back end
  QVERIFY(published == 1 && batch->snapshot()->serial > serial);
  QCOMPARE(codeIn(*batch, "sequence", of(0, "tick")), std::string("bad_argument"));
  QCOMPARE(codeIn(*batch, "batchRelease", {{"sequence", 0}}), std::string("bad_argument"));
  QCOMPARE(codeIn(*batch, "batchPrompts", {{"prompts", {"a", nullptr, nullptr}}}), std::string("bad_argument"));
  const BatchTick tick = batch->step({3, TokenId(9)});
  QVERIFY(!tick.sequences[0].took && tick.sequences[1].took && tick.sequences[2].took);
  called(*batch, "batchRelease", {{"sequence", 2}});
  QCOMPARE(codeIn(*batch, "batchRelease", {{"sequence", 1}}), std::string("blocked"));
  QCOMPARE(called(*batch, "length"), json(11));
  QCOMPARE(called(*batch, "batchReport")[2]["released"], json(true));
}

void BatchTest::goOnAfterAForkAndAlone() {
  auto origin = opened(tinyManifest());
  call(*origin, "promptIds", {{"ids", someIds(10, 200, 3)}});
  const auto batch = made(std::move(origin), 2);
  batch->prompt({nullptr, someIds(3, 200, 5)});
  Result<std::unique_ptr<Batch>> copy = batch->fork();
  QVERIFY(copy);
  for (Batch* one : {batch.get(), copy->get()}) one->step({TokenId(7), TokenId(8)});
  for (const int i : {0, 1}) QCOMPARE(stateHash((*copy)->session(i)), stateHash(batch->session(i)));
  Result<std::unique_ptr<Session>> kept = (*copy)->keep(1);
  QVERIFY(kept);
  copy->reset();
  call(**kept, "step", {{"tokens", {4}}});
  batch->step({2, TokenId(4)});
  QCOMPARE(stateHash(**kept), stateHash(batch->session(1)));
  QCOMPARE(broken(**kept), QString());
}

KV_TEST(BatchTest)
#include "batch_test.moc"
