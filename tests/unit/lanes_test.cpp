// SPDX-License-Identifier: Apache-2.0
// Lanes are sessions like any other, on the same tokens; what they report is what can be counted by hand.
#include "support/scripted_session.h"

#include <cmath>

#include "core/analysis/metrics.h"
#include "core/session/lanes.h"

using namespace kvlab;
using namespace kvlab::test;

class LanesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void areSeparateRuns_data();
  void areSeparateRuns();
  void followTheReference_data();
  void followTheReference();
  void beginInTheMiddle();
  void reportWhatIsThere();
  void measuresTheTakenToken();
  void aLaneThatFailsLeaves();
  void aCallThatAllRefuseChangesNothing();
  void onlyTakenTokensBreakTheStep();
  void refuseAnotherModel();

 private:
  static std::unique_ptr<Lanes> made(const Session& origin, const std::vector<json>& changes, LanesOptions options = {}) {
    Result<std::unique_ptr<Lanes>> lanes = Lanes::make(origin, changes, options);
    if (!lanes) qFatal("%s", lanes.error().text().c_str());
    return lanes.take();
  }
  static LanesTick stepped(Lanes& lanes, const std::vector<TokenId>& tokens = {}) {
    Result<LanesTick> tick = lanes.step(tokens);
    if (!tick) qFatal("%s", tick.error().text().c_str());
    return tick.take();
  }
  static LanesTick fed(Lanes& lanes, const char* verb, const json& args) {
    Result<LanesTick> tick = lanes.feed(verb, args);
    if (!tick) qFatal("%s", tick.error().text().c_str());
    return tick.take();
  }
  static json with(json base, const json& changes) {
    base.merge_patch(changes);
    return base;
  }
  static std::vector<float> logits(const Session& s) { return s.state().logits ? *s.state().logits : std::vector<float>(); }
};

namespace {
const std::vector<json> kChanges = {{{"layout", "ring_fused"}, {"ring", {{"window", 12}}}},
                                    {{"layout", "contiguous_splice"}},
                                    {{"kv", {{"k", "int8"}, {"v", "int8"}}}},
                                    {{"layout", "paged:block=4"}, {"kv", {{"k", "f16"}, {"v", "bf16"}}}, {"prefill_chunk", 7}}};
}  // namespace

void LanesTest::areSeparateRuns_data() {
  QTest::addColumn<int>("lanes");
  QTest::addColumn<bool>("together");
  for (const int lanes : {1, 2, 5})
    for (const bool together : {false, true}) QTest::addRow("%d lanes%s", lanes, together ? " together" : "") << lanes << together;
}

void LanesTest::areSeparateRuns() {
  QFETCH(int, lanes);
  QFETCH(bool, together);
  const json base = tinyManifest();
  const std::vector<json> changes(kChanges.begin(), kChanges.begin() + lanes - 1);
  const auto origin = opened(base);
  const auto group = made(*origin, changes, {.together = together});
  std::vector<std::unique_ptr<Session>> alone;
  for (int i = 0; i < lanes; ++i) alone.push_back(opened(i ? with(base, changes[static_cast<std::size_t>(i - 1)]) : base));
  const auto compare = [&](const char* when) {
    for (int i = 0; i < lanes; ++i) {
      const Session &one = group->session(i), &other = *alone[static_cast<std::size_t>(i)];
      QVERIFY2(one.stateHash() == other.stateHash(), qPrintable(QString("lane %1 %2").arg(i).arg(when)));
      QVERIFY2(logits(one) == logits(other), qPrintable(QString("logits of lane %1 %2").arg(i).arg(when)));
    }
  };
  const auto all = [&](const char* verb, const json& args) {
    for (const auto& s : alone) call(*s, verb, args);
  };
  fed(*group, "promptIds", {{"ids", someIds(40, 200, 3)}});
  all("promptIds", {{"ids", someIds(40, 200, 3)}});
  compare("after a prompt");
  for (const int token : someIds(9, 200, 8)) {
    const LanesTick tick = stepped(*group, {TokenId(token)});
    for (const LanesTick::Outcome& outcome : tick.lanes) QVERIFY(!outcome.error);
    all("step", {{"tokens", {token}}});
    compare("after a step");
  }
  fed(*group, "prefill", {{"ids", someIds(5, 200, 4)}});
  all("prefill", {{"ids", someIds(5, 200, 4)}});
  compare("after more of a prompt");
  for (int i = 0; i < lanes; ++i) QCOMPARE(broken(*alone[static_cast<std::size_t>(i)]), QString());
}

void LanesTest::followTheReference_data() {
  QTest::addColumn<QString>("more");
  QTest::newRow("greedy") << "{}";
  QTest::newRow("sampled") << R"({"sampling":{"temperature":0.9,"seed":5}})";
  QTest::newRow("blocks") << R"({"layout":"ring_fused","ring":{"window":24,"block_tokens":3}})";
}

void LanesTest::followTheReference() {
  QFETCH(QString, more);
  const json base = tinyManifest(json::parse(more.toStdString()));
  const auto origin = opened(base), alone = opened(base);
  const auto group = made(*origin, {{{"layout", "indirection"}, {"ring", {{"window", 0}, {"block_tokens", 1}}}}, {{"kv", {{"k", "f16"}}}}});
  fed(*group, "promptIds", {{"ids", someIds(20, 200, 3)}});
  call(*alone, "promptIds", {{"ids", someIds(20, 200, 3)}});
  const std::size_t block = static_cast<std::size_t>(alone->manifest().ring.blockTokens);
  for (int i = 0; i < 8; ++i) {
    const LanesTick tick = stepped(*group);
    call(*alone, "step");
    QCOMPARE(tick.tokens.size(), block);
    QCOMPARE(group->session(0).stateHash(), alone->stateHash());
  }
  const LanesViewPtr view = group->view();
  for (const LaneView& lane : view->lanes) {
    QVERIFY(!lane.exit);
    QCOMPARE(lane.taken.size(), 20 + 8 * block);
    for (std::size_t i = 0; i < lane.taken.size(); ++i)
      QCOMPARE(lane.snapshot->ledger[lane.taken[i]].token, view->lanes[0].snapshot->ledger[view->lanes[0].taken[i]].token);
  }
}

/// A session that has lived already: lane 0 goes on from there, the others take its live tokens.
void LanesTest::beginInTheMiddle() {
  const auto origin = opened(tinyManifest());
  live(*origin);
  const std::string before = origin->stateHash();
  const auto group = made(*origin, {{{"layout", "ring_fused"}, {"ring", {{"window", 12}}}}});
  QCOMPARE(group->session(0).stateHash(), before);
  stepped(*group);
  QCOMPARE(origin->stateHash(), before);
  const LanesViewPtr view = group->view();
  QCOMPARE(view->lanes[1].taken.size(), view->lanes[0].taken.size());
  QVERIFY(view->lanes[1].now.meanOverlap() < 1);
}

void LanesTest::reportWhatIsThere() {
  const auto origin = opened(tinyManifest());
  const auto group = made(*origin, {{{"layout", "ring_fused"}, {"ring", {{"window", 10}}}}, json::object()});
  fed(*group, "promptIds", {{"ids", someIds(39, 200, 3)}});
  QVERIFY(group->setNeedles({0, 35}));
  stepped(*group);
  const LanesViewPtr view = group->view();
  QCOMPARE(view->ticks, 1);
  const LaneView &ring = view->lanes[1], &same = view->lanes[2];
  const int layers = group->session(0).state().layers();
  QCOMPARE(static_cast<int>(ring.now.overlap.size()), layers);
  const NewestAttention& seen = *group->session(0).state().attention;
  for (int layer = 0; layer < layers; ++layer) {
    const auto l = static_cast<std::size_t>(layer);
    QCOMPARE(ring.now.overlap[l], 10.0 / 40);
    QCOMPARE(ring.now.needles[l], 0.5);
    double kept = 0, all = 0;
    for (std::size_t i = 0; i < seen.mass[l].size(); ++i) all += seen.mass[l][i];
    for (std::size_t i = 30; i < 40; ++i) kept += seen.mass[l][i];
    QVERIFY(std::abs(ring.now.massKept[l] - kept / all) < 1e-12);
    QCOMPARE(same.now.massKept[l], 1.0);
  }
  QVERIFY(ring.kl.mean > 0);
  QCOMPARE(ring.now.kl, klDivergence(logits(group->session(0)), logits(group->session(1))));
  QCOMPARE(same.kl.mean, 0.0);
  QCOMPARE(same.now.dnll, 0.0);
  QCOMPARE(same.top1.mean, 1.0);
  QCOMPARE(view->lanes[0].now.meanOverlap(), 1.0);
  QCOMPARE(ring.snapshot->bytes.live * 4, view->lanes[0].snapshot->bytes.live);  // 10 rows of 40
  const json report = toJson(*view);
  QCOMPARE(report.size(), 3u);
  for (const char* key : {"lane", "kl", "klMedian", "klP99", "klLast", "dnll", "top1", "massKept", "overlap", "bytes", "bytesAllocated", "us", "weightBytes"})
    QVERIFY2(report[1].contains(key), key);
  QCOMPARE(report[1]["label"], json("layout=ring_fused, ring.window=10"));
}

void LanesTest::measuresTheTakenToken() {
  const auto origin = opened(tinyManifest());
  const auto group = made(*origin, {{{"layout", "ring_fused"}, {"ring", {{"window", 6}}}}});
  fed(*group, "promptIds", {{"ids", someIds(30, 200, 3)}});
  double sum = 0;
  const std::vector<int> tokens = someIds(5, 200, 12);
  for (const int token : tokens) {
    const std::vector<float> p = logits(group->session(0)), q = logits(group->session(1));
    const LanesTick tick = stepped(*group, {TokenId(token)});
    const double expected = negativeLogLikelihood(q, TokenId(token)) - negativeLogLikelihood(p, TokenId(token));
    QCOMPARE(tick.lanes[1].figures.dnll, expected);
    sum += expected;
  }
  QVERIFY(std::abs(group->view()->lanes[1].dnll.mean - sum / 5) < 1e-12);
  QCOMPARE(group->view()->lanes[1].dnll.count, 5);
}

void LanesTest::aLaneThatFailsLeaves() {
  const auto origin = opened(tinyManifest({{"faults", true}}));
  const auto group = made(*origin, {{{"capacity", 24}}, {{"layout", "contiguous_splice"}}, json::object()});
  fed(*group, "promptIds", {{"ids", someIds(22, 200, 3)}});
  QVERIFY(group->call(2, "fault", {{"kind", "kernel"}, {"n", 1}}));
  LanesTick tick = stepped(*group);
  QVERIFY(tick.lanes[2].error);
  QCOMPARE(tick.lanes[2].error->code, std::string("fault"));
  QVERIFY(!tick.lanes[1].error && !tick.lanes[0].error && !tick.lanes[3].error);
  stepped(*group);
  tick = stepped(*group);  // the 25th row does not fit
  QVERIFY(tick.lanes[1].error && !tick.lanes[2].stepped);
  const std::string left = group->session(1).stateHash();
  for (int i = 0; i < 3; ++i) tick = stepped(*group);
  QVERIFY(!tick.lanes[1].stepped);
  QCOMPARE(group->session(1).stateHash(), left);
  const LanesViewPtr view = group->view();
  QVERIFY(view->lanes[1].exit && view->lanes[2].exit && !view->lanes[0].exit && !view->lanes[3].exit);
  QCOMPARE(view->lanes[1].exit->tick, Tick(3));
  QCOMPARE(view->lanes[3].taken.size(), std::size_t{28});
  QCOMPARE(view->lanes[3].kl.count, 6);
  QCOMPARE(view->lanes[1].kl.count, 2);
  const json report = toJson(*view);
  QCOMPARE(report[1]["inStep"], json(false));
  QVERIFY(report[1]["error"].contains("code"));
}

void LanesTest::aCallThatAllRefuseChangesNothing() {
  const auto origin = opened(tinyManifest());
  const auto group = made(*origin, {json::object()});
  QCOMPARE(group->step().error().code, std::string("empty"));
  fed(*group, "promptIds", {{"ids", someIds(10, 200, 3)}});
  const std::string before = group->session(1).stateHash();
  QVERIFY(!group->feed("promptIds", {{"ids", {1, 1 << 20}}}));
  QVERIFY(!group->step({TokenId(1 << 20)}));
  QCOMPARE(group->feed("rebuild", json::object()).error().code, std::string("bad_argument"));
  QCOMPARE(group->session(1).stateHash(), before);
  stepped(*group);
  for (const LaneView& lane : group->view()->lanes) QVERIFY(!lane.exit);
}

void LanesTest::onlyTakenTokensBreakTheStep() {
  const auto origin = opened(tinyManifest());
  const auto group = made(*origin, {json::object(), json::object()});
  fed(*group, "promptIds", {{"ids", someIds(20, 200, 3)}});
  QVERIFY(group->call(1, "evict", {{"layer", 0}, {"ledger", {3, 4, 5, 6}}, {"now", true}}));
  QVERIFY(group->call(1, "setBrightness", {{"ledger", 2}, {"value", 9}}));
  QVERIFY(group->call(1, "topk", {{"k", 3}}));
  QVERIFY(!group->view()->lanes[1].exit);
  QCOMPARE(group->view()->lanes[1].now.overlap[0], 16.0 / 20);
  stepped(*group);
  QCOMPARE(group->view()->lanes[1].now.overlap[0], 17.0 / 21);
  QVERIFY(group->call(1, "step", json::object()));
  QVERIFY(group->call(2, "undo", json::object()));
  QVERIFY(group->view()->lanes[1].exit && group->view()->lanes[2].exit);
  stepped(*group);  // the reference is still there
  QCOMPARE(group->call(9, "tick", json::object()).error().code, std::string("bad_argument"));
  QVERIFY(group->call(0, "step", json::object()));
  QCOMPARE(group->step().error().code, std::string("out_of_step"));
}

void LanesTest::refuseAnotherModel() {
  const auto origin = opened(tinyManifest());
  const auto codeWith = [&](const json& changes) {
    const Result<std::unique_ptr<Lanes>> lanes = Lanes::make(*origin, {json::object(), changes});
    return lanes ? std::string() : lanes.error().code + " " + lanes.error().field;
  };
  QCOMPARE(codeWith({{"model", "demo"}}), std::string("lane_differs model"));
  QCOMPARE(codeWith({{"dtype", "f16"}}), std::string("lane_differs dtype"));
  QCOMPARE(codeWith({{"backend", "cuda"}}), std::string("lane_differs backend"));
  QCOMPARE(codeWith({{"ring", {{"window", -3}}}}), std::string("bad_manifest ring.window"));
  QCOMPARE(codeWith(json::array()), std::string("bad_manifest changes"));
  const Result<std::unique_ptr<Lanes>> third = Lanes::make(*origin, {json::object(), {{"dtype", "f16"}}});
  QVERIFY(third.error().what.starts_with("lane 2:"));
}

QTEST_GUILESS_MAIN(LanesTest)
#include "lanes_test.moc"
