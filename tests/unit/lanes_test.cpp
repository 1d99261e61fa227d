// SPDX-License-Identifier: Apache-2.0
// Lanes are sessions like any other, on the same tokens; their reports match counts by hand.
#include "support/scripted_session.h"

#include <cmath>

#include "core/analysis/metrics.h"
#include "core/lanes/lanes.h"
#include "core/model/decoder/sampler.h"
#include "core/session/truth.h"
#include "support/runner.h"

using namespace kvlab;
using namespace kvlab::test;

class LanesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void areSeparateRuns_data();
  void areSeparateRuns();
  void followTheReference_data();
  void followTheReference();
  void readTheWeightsOnce();
  void editsOfOneLaneAreItsOwn();
  void sayWhyTheyGoApart();
  void policiesPruneAsTheyDoAlone();
  void beginInTheMiddle();
  void reportWhatIsThere();
  void saysWhatHasNoEffect();
  void measuresTheTakenToken();
  void lossesOfTicksAreThoseOfSessionsAlone();
  void lossesOfScoredTextsAreThoseOfSessionsAlone();
  void lossesOfTheOriginAreKept();
  void aForkKeepsLosses();
  void aLaneThatLeavesHasTheCommonLosses();
  void aLaneThatFailsLeaves();
  void aCallThatAllRefuseChangesNothing();
  void onlyTakenTokensBreakTheStep();
  void refuseAnotherModel();
  void goOnAfterAForkAndAlone();
  void aBreakpointInsideATickHoldsNobodyUp();

 private:
  static std::unique_ptr<Lanes> made(const Session& origin, const std::vector<json>& changes,
                                     LanesOptions options = {}) {
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
  static std::vector<float> losses(const Lanes& lanes, std::size_t lane) {
    const Column<float>& all = lanes.view()->lanes[lane].losses;
    return {all.begin(), all.end()};
  }
  /// The losses that the verb scoreIds returned.
  static std::vector<float> scored(const json& result) {
    std::vector<float> out;
    for (const json& loss : result["losses"]) out.push_back(loss.is_null() ? std::nanf("") : loss.get<float>());
    return out;
  }
  /// Equal bits; a loss that is none equals another.
  static bool same(std::span<const float> a, std::span<const float> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
  }
  static bool onHost(const Session& s) { return s.transformer().backend().onHost(); }
  static std::vector<float> logits(const Session& s) {
    return s.state().logits ? *s.state().logits : std::vector<float>();
  }
};

namespace {
const std::vector<json> kChanges = {
    {{"layout", "ring_fused"}, {"ring", {{"window", 12}}}},
    {{"layout", "contiguous_splice"}},
    {{"kv", {{"k", "int8"}, {"v", "int8"}}}},
    {{"layout", "paged:block=4"}, {"kv", {{"k", "f16"}, {"v", "bf16"}}}, {"prefill_chunk", 7}}};
}  // namespace

void LanesTest::areSeparateRuns_data() {
  QTest::addColumn<int>("lanes");
  QTest::addColumn<bool>("together");
  for (const int lanes : {1, 2, 5})
    for (const bool together : {false, true})
      QTest::addRow("%d lanes%s", lanes, together ? " together" : "") << lanes << together;
}

void LanesTest::areSeparateRuns() {
  QFETCH(int, lanes);
  QFETCH(bool, together);
  const json base = tinyManifest({{"threads", together ? 3 : 1}});
  const std::vector<json> changes(kChanges.begin(), kChanges.begin() + lanes - 1);
  const auto origin = opened(base);
  const auto group = made(*origin, changes, {.together = together});
  std::vector<std::unique_ptr<Session>> alone;
  for (int i = 0; i < lanes; ++i)
    alone.push_back(opened(i ? with(base, changes[static_cast<std::size_t>(i - 1)]) : base));
  const auto compare = [&](const char* when) {
    for (int i = 0; i < lanes; ++i) {
      const Session &one = group->session(i), &other = *alone[static_cast<std::size_t>(i)];
      QVERIFY2(stateHash(one) == stateHash(other), qPrintable(QString("lane %1 %2").arg(i).arg(when)));
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
  const auto group = made(
      *origin, {{{"layout", "indirection"}, {"ring", {{"window", 0}, {"block_tokens", 1}}}}, {{"kv", {{"k", "f16"}}}}});
  fed(*group, "promptIds", {{"ids", someIds(20, 200, 3)}});
  call(*alone, "promptIds", {{"ids", someIds(20, 200, 3)}});
  const std::size_t block = static_cast<std::size_t>(alone->manifest().ring.blockTokens);
  for (int i = 0; i < 8; ++i) {
    const LanesTick tick = stepped(*group);
    call(*alone, "step");
    QCOMPARE(tick.tokens.size(), block);
    QCOMPARE(stateHash(group->session(0)), stateHash(*alone));
  }
  const LanesViewPtr view = group->view();
  for (const LaneView& lane : view->lanes) {
    QVERIFY(!lane.exit);
    QCOMPARE(lane.taken.size(), 20 + 8 * block);
    for (std::size_t i = 0; i < lane.taken.size(); ++i)
      QCOMPARE(lane.snapshot->ledger[lane.taken[i]].token,
               view->lanes[0].snapshot->ledger[view->lanes[0].taken[i]].token);
  }
}

/// By the ops themselves: what the linear steps of n lanes read less when their passes meet is n - 1 times the weights.
void LanesTest::readTheWeightsOnce() {
  const json base = tinyManifest({{"op_events", true}});
  const auto origin = opened(base);
  if (!onHost(*origin)) QSKIP("a device makes one pass per lane");
  std::int64_t weights = 0;
  const Model& model = origin->model();
  for (const Layer l : idRange<Layer>(0, model.config().layers)) {
    const LayerWeights& w = model.layer(l);
    for (const TensorView* view :
         {&w.inputNorm, &w.q, &w.k, &w.v, &w.o, &w.postNorm, &w.dense.gate, &w.dense.up, &w.dense.down})
      weights += view->bytes();
  }
  weights += model.finalNorm().bytes() + model.head().bytes();
  struct Read {
    std::int64_t bytes = 0, calls = 0;
  };
  for (const int rows : {1, 9}) {
    std::map<bool, Read> read;
    for (const bool together : {true, false}) {
      const auto group = made(*origin, {kChanges[0], kChanges[1], kChanges[2], kChanges[3]}, {.together = together});
      fed(*group, "promptIds", {{"ids", someIds(20, 200, 3)}});
      const LanesTick tick = rows == 1 ? stepped(*group) : fed(*group, "promptIds", {{"ids", someIds(7, 200, 3)}});
      QCOMPARE(tick.together, together);
      QCOMPARE(tick.apart.empty(), together);
      QCOMPARE(tick.weightBytes, together ? weights : 5 * weights);
      QCOMPARE(tick.lanes[0].figures.weightBytes, weights);
      QCOMPARE(tick.lanes[4].figures.weightBytes, together ? 0 : weights);
      QCOMPARE(group->view()->weightBytes, tick.weightBytes);
      for (int lane = 0; lane < group->size(); ++lane)
        for (const Event& event : group->session(lane).snapshot()->report->events)
          if (event.name == "linear") read[together].bytes += event.bytes, ++read[together].calls;
      for (int lane = 0; rows == 1 && !together && lane < group->size(); ++lane) {  // its tick alone, not its report
        double end = 0;
        for (const Event& event : group->session(lane).snapshot()->report->events)
          end = std::max(end, event.startUs + event.us);
        QCOMPARE(tick.lanes[at(lane)].figures.us, end);
      }
    }
    QCOMPARE(read[false].bytes - read[true].bytes, 4 * weights);
    QCOMPARE(read[false].calls, 5 * read[true].calls);
  }
}

/// An edit makes more passes, and other rows, than the others have at that tick.
void LanesTest::editsOfOneLaneAreItsOwn() {
  const json base = tinyManifest({{"after_edit", {{"selective", {{"ratio", 0.3}}}}}}),
             cull{{"brightness", {{"target", 22}, {"compressor", "nearest"}}}};
  const json descending{{"executor", "descending"}, {"threads", 2}};
  const auto origin = opened(base), culled = opened(with(base, cull)), edited = opened(with(base, descending));
  const auto group = made(*origin, {cull, descending});
  const json edit{
      {"actions",
       {{{"action", "delete"}, {"position", 8}}, {{"action", "insert"}, {"position", 12}, {"token_ids", {7, 9}}}}}};
  fed(*group, "promptIds", {{"ids", someIds(21, 200, 3)}});
  for (Session* s : {culled.get(), edited.get()}) call(*s, "promptIds", {{"ids", someIds(21, 200, 3)}});
  for (const int token : someIds(6, 200, 5)) {
    QVERIFY(group->call(2, "inject", edit));
    call(*edited, "inject", edit);
    const LanesTick tick = stepped(*group, {TokenId(token)});
    for (Session* s : {culled.get(), edited.get()}) call(*s, "step", {{"tokens", {token}}});
    QCOMPARE(tick.together, onHost(*origin));
    QCOMPARE(stateHash(group->session(1)), stateHash(*culled));
    QCOMPARE(stateHash(group->session(2)), stateHash(*edited));
  }
  QVERIFY(culled->state().length() < 27);
  for (const LaneView& lane : group->view()->lanes) {
    QVERIFY(!lane.exit);
    QCOMPARE(lane.taken.size(), std::size_t{27});
  }
}

void LanesTest::sayWhyTheyGoApart() {
  const auto origin = opened(tinyManifest()),
             blocks = opened(tinyManifest({{"layout", "ring_fused"}, {"ring", {{"window", 24}, {"block_tokens", 3}}}}));
  const auto apartOf = [](const Session& session, const std::vector<json>& changes, LanesOptions options) {
    const auto group = made(session, changes, options);
    fed(*group, "promptIds", {{"ids", someIds(8, 200, 3)}});
    const LanesTick tick = stepped(*group);
    return tick.together ? "together " + tick.apart : tick.apart;
  };
  QCOMPARE(apartOf(*origin, {json::object()}, {}),
           std::string(onHost(*origin) ? "together " : "back end cuda:0 orders the calls of each session for itself"));
  QCOMPARE(apartOf(*origin, {}, {}), std::string("one session takes part"));
  QCOMPARE(apartOf(*origin, {json::object()}, {.together = false}),
           std::string("each session was asked to make its own pass"));
  QCOMPARE(apartOf(*blocks, {json::object()}, {}),
           std::string("a block of tokens is known when lane 0 has generated all of it"));
}

/// Policies look at attention, keys and moments of queries of a pass that was made together.
void LanesTest::policiesPruneAsTheyDoAlone() {
  const json base = tinyManifest();
  std::vector<json> changes;
  for (const char* policy : {"h2o:sinks=2,window=6,capacity=20", "snapkv:window=8,observe=8,capacity=20",
                             "expected_attention:capacity=20", "full", "streaming_llm:sinks=2,window=18"})
    changes.push_back({{"policy", policy}});
  changes[3] = {{"policy", {{"name", "knorm"}, {"capacity", 20}}}, {"kv", {{"k", "int8"}}}};
  const auto origin = opened(base);
  const auto group = made(*origin, changes);
  std::vector<std::unique_ptr<Session>> alone;
  alone.push_back(opened(base));
  for (const json& change : changes) {
    json manifest = base;
    manifest.update(change);
    alone.push_back(opened(manifest));
  }
  const auto all = [&](const char* verb, const json& args) {
    const LanesTick tick = std::string(verb) == "step" ? stepped(*group, {TokenId(args["tokens"][0].get<int>())})
                                                       : fed(*group, verb, args);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      call(*alone[i], verb, args);
      QVERIFY2(stateHash(group->session(static_cast<int>(i))) == stateHash(*alone[i]),
               qPrintable(QString("lane %1 after %2").arg(i).arg(verb)));
    }
  };
  all("prefill", {{"ids", someIds(30, 200, 3)}, {"last", false}});
  all("prefill", {{"ids", someIds(20, 200, 4)}, {"last", false}});
  for (const LaneView& lane : group->view()->lanes)
    QCOMPARE(lane.now.meanOverlap(), 1.0);  // nothing is pruned before the end
  all("endPrefill", json::object());
  for (const int token : someIds(5, 200, 5)) all("step", {{"tokens", {token}}});
  const LanesViewPtr view = group->view();
  for (std::size_t lane = 1; lane < view->lanes.size(); ++lane) {
    QVERIFY(!view->lanes[lane].exit);
    QVERIFY(view->lanes[lane].now.meanMassKept() < 1 && view->lanes[lane].now.meanMassKept() > 0);
    for (const double overlap : view->lanes[lane].now.overlap) QCOMPARE(overlap, 20.0 / 55);
    QVERIFY(view->lanes[lane].kl.mean > 0);
  }
}

/// A session that has lived already: lane 0 goes on from there, the others take its live tokens.
void LanesTest::beginInTheMiddle() {
  const auto origin = opened(tinyManifest());
  live(*origin);
  const std::string before = stateHash(*origin);
  const auto group = made(*origin, {{{"layout", "ring_fused"}, {"ring", {{"window", 12}}}}});
  QCOMPARE(stateHash(group->session(0)), before);
  stepped(*group);
  QCOMPARE(stateHash(*origin), before);
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
  const int layers = group->session(0).cacheLayers().count();
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
  for (const char* key : {"lane", "kl", "klMedian", "klP99", "klLast", "dnll", "top1", "massKept", "overlap", "bytes",
                          "bytesAllocated", "us", "weightBytes"})
    QVERIFY2(report[1].contains(key), key);
  QCOMPARE(report[1]["label"], json("layout=ring_fused, ring.window=10"));
}

/// Else a window of 8 would seem to cost nothing.
void LanesTest::saysWhatHasNoEffect() {
  const auto origin = opened(tinyManifest());
  const auto group =
      made(*origin, {{{"ring", {{"window", 8}}}}, {{"layout", "ring_fused"}, {"ring", {{"window", 8}}}}});
  const json report = toJson(*group->view());
  QCOMPARE(report[1]["label"], json("ring.window=8 (without effect)"));
  QCOMPARE(report[2]["label"], json("layout=ring_fused, ring.window=8"));
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

/// By the logits before each tick, and by the verb scoreIds of sessions that have the manifest of a lane. A prompt is
/// not measured.
void LanesTest::lossesOfTicksAreThoseOfSessionsAlone() {
  const json base = tinyManifest();
  const auto origin = opened(base);
  std::vector<json> changes = kChanges;
  changes.push_back({{"policy", "h2o:sinks=2,window=6,capacity=20"}});
  const auto group = made(*origin, changes);
  fed(*group, "promptIds", {{"ids", someIds(30, 200, 3)}});
  const std::vector<int> tokens = someIds(6, 200, 12);
  std::vector<std::vector<float>> expected(changes.size() + 1, std::vector<float>(30, std::nanf("")));
  for (const int token : tokens) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i].push_back(
          static_cast<float>(negativeLogLikelihood(logits(group->session(static_cast<int>(i))), TokenId(token))));
    stepped(*group, {TokenId(token)});
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    QVERIFY2(same(losses(*group, i), expected[i]), qPrintable(QString("lane %1").arg(i)));
    const auto alone = opened(i ? with(base, changes[i - 1]) : base);
    call(*alone, "promptIds", {{"ids", someIds(30, 200, 3)}});
    const json result = call(*alone, "scoreIds", {{"ids", tokens}, {"each", true}});
    QVERIFY2(same(std::span(expected[i]).subspan(30), scored(result)), qPrintable(QString("session %1").arg(i)));
  }
  QVERIFY(!same(losses(*group, 0), losses(*group, 1)));
}

void LanesTest::lossesOfScoredTextsAreThoseOfSessionsAlone() {
  const json base = tinyManifest();
  const auto origin = opened(base);
  const auto group = made(*origin, kChanges);
  for (const bool each : {false, true}) fed(*group, "scoreIds", {{"ids", someIds(12, 200, each)}, {"each", each}});
  for (std::size_t i = 0; i <= kChanges.size(); ++i) {
    const auto alone = opened(i ? with(base, kChanges[i - 1]) : base);
    std::vector<float> expected;
    for (const bool each : {false, true}) {
      const auto part = scored(call(*alone, "scoreIds", {{"ids", someIds(12, 200, each)}, {"each", each}}));
      expected.insert(expected.end(), part.begin(), part.end());
    }
    QVERIFY2(same(losses(*group, i), expected), qPrintable(QString("lane %1").arg(i)));
    QVERIFY(std::isnan(expected[0]) && !std::isnan(expected[1]) && !std::isnan(expected[12]));
  }
}

/// Lane 0 is the scored session; the others took its tokens as a prompt, which nobody measured.
void LanesTest::lossesOfTheOriginAreKept() {
  const auto origin = opened(tinyManifest());
  const std::vector<float> expected = scored(call(*origin, "scoreIds", {{"ids", someIds(10, 200, 3)}}));
  const auto group = made(*origin, {json::object()});
  QVERIFY(same(losses(*group, 0), expected));
  QVERIFY(same(losses(*group, 1), std::vector<float>(10, std::nanf(""))));
}

void LanesTest::aForkKeepsLosses() {
  const auto origin = opened(tinyManifest());
  const auto group = made(*origin, {kChanges[0]});
  fed(*group, "promptIds", {{"ids", someIds(20, 200, 3)}});
  stepped(*group);
  const LanesViewPtr before = group->view();
  const Result<std::unique_ptr<Lanes>> copy = group->fork();
  QVERIFY(copy);
  for (std::size_t lane = 0; lane < 2; ++lane) {
    QVERIFY(!std::isnan(losses(*group, lane)[20]));
    QVERIFY(same(losses(**copy, lane), losses(*group, lane)));
    QVERIFY(!before->lanes[lane].losses.sharesWith((*copy)->view()->lanes[lane].losses));  // another thread appends
  }
  stepped(**copy, {TokenId(5)});
  stepped(*group, {TokenId(6)});
  QVERIFY(!same(losses(**copy, 1), losses(*group, 1)));
  const std::vector<float> kept = losses(**copy, 1);
  QVERIFY(same(std::span(kept).first(21), before->lanes[1].losses.span()));
}

/// A token that a lane took alone is not among those of all lanes; nor is one that it took back.
void LanesTest::aLaneThatLeavesHasTheCommonLosses() {
  const auto origin = opened(tinyManifest());
  const auto group = made(*origin, {kChanges[0], json::object()});
  fed(*group, "scoreIds", {{"ids", someIds(20, 200, 3)}});
  stepped(*group);
  QVERIFY(group->call(1, "step", {{"n", 3}}));
  QVERIFY(group->call(2, "undo", json::object()));
  stepped(*group);
  const LanesViewPtr view = group->view();
  QCOMPARE(view->lanes[0].losses.size(), 22u);
  for (const std::size_t lane : {1u, 2u}) {
    QCOMPARE(view->lanes[lane].losses.size(), lane == 1 ? 21u : 20u);
    QCOMPARE(view->lanes[lane].taken.size(), view->lanes[lane].losses.size());
  }
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
  const std::string left = stateHash(group->session(1));
  for (int i = 0; i < 3; ++i) tick = stepped(*group);
  QVERIFY(!tick.lanes[1].stepped);
  QCOMPARE(stateHash(group->session(1)), left);
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
  const std::string before = stateHash(group->session(1));
  QVERIFY(!group->feed("promptIds", {{"ids", {1, 1 << 20}}}));
  QVERIFY(!group->step({TokenId(1 << 20)}));
  QCOMPARE(group->feed("rebuild", json::object()).error().code, std::string("bad_argument"));
  QCOMPARE(stateHash(group->session(1)), before);
  stepped(*group);
  for (const LaneView& lane : group->view()->lanes) QVERIFY(!lane.exit);
}

void LanesTest::onlyTakenTokensBreakTheStep() {
  const auto origin = opened(tinyManifest());
  const auto group = made(*origin, {json::object(), json::object()});
  fed(*group, "promptIds", {{"ids", someIds(20, 200, 3)}});
  QVERIFY(group->call(1, "evict", {{"layer", 0}, {"ledger", {3, 4, 5, 6}}, {"now", true}}));
  QVERIFY(group->call(1, "setBrightness", {{"ledger", 2}, {"value", 9}}));
  QVERIFY(group->call(1, "table", tableArgs("topk", {{"k", 3}})));
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
  const bool onHost = origin->transformer().backend().id() == std::string("cpu");
  QCOMPARE(codeWith({{"backend", onHost ? "cuda" : "cpu"}}), std::string("lane_differs backend"));
  QCOMPARE(codeWith({{"ring", {{"window", -3}}}}), std::string("bad_manifest ring.window"));
  QCOMPARE(codeWith(json::array()), std::string("bad_manifest changes"));
  const Result<std::unique_ptr<Lanes>> third = Lanes::make(*origin, {json::object(), {{"dtype", "f16"}}});
  QVERIFY(third.error().what.starts_with("lane 2:"));
}

void LanesTest::aBreakpointInsideATickHoldsNobodyUp() {
  const SessionFixture s(json{{"policy", "snapkv:capacity=16,window=4"}});
  s.prompt(20);
  s.must("break", {{"condition", "stage(prune)"}});
  for (const bool together : {true, false}) {
    const auto lanes = made(*s, {json::object()}, {.together = together});
    QVERIFY(lanes->session(0).breakpoints().any());
    fed(*lanes, "promptIds", {{"ids", SessionFixture::ids(9)}});
    for (int i = 0; i < 3; ++i) stepped(*lanes);
    for (int lane = 0; lane < 2; ++lane) {
      QVERIFY(!lanes->session(lane).stage());
      QCOMPARE(lanes->session(lane).state().length(), 32);
    }
  }
}

void LanesTest::goOnAfterAForkAndAlone() {
  auto origin = opened(tinyManifest());
  const std::string before = stateHash(*origin);
  QVERIFY(!Lanes::around(origin, {{{"dtype", "f16"}}}));
  QVERIFY(origin && stateHash(*origin) == before);
  Result<std::unique_ptr<Lanes>> group = Lanes::around(origin, {kChanges[0], kChanges[2]});
  QVERIFY(group && !origin);
  fed(**group, "promptIds", {{"ids", someIds(20, 200, 3)}});
  stepped(**group);
  Result<std::unique_ptr<Lanes>> copy = (*group)->fork();
  QVERIFY(copy);
  QCOMPARE(toJson(*(*copy)->view()), toJson(*(*group)->view()));
  for (int i = 0; i < 3; ++i) {
    stepped(**group);
    stepped(**copy);
  }
  for (int lane = 0; lane < 3; ++lane) QCOMPARE(stateHash((*copy)->session(lane)), stateHash((*group)->session(lane)));
  QCOMPARE((*copy)->view()->lanes[1].kl.count, 4);
  const std::string left = stateHash((*copy)->session(1));
  const std::unique_ptr<Session> alone = (*copy)->release(1);
  copy->reset();
  QCOMPARE(stateHash(*alone), left);
  call(*alone, "step", {{"n", 3}});
  QCOMPARE(broken(*alone), QString());
}

KV_TEST(LanesTest)
#include "lanes_test.moc"
