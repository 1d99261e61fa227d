// SPDX-License-Identifier: Apache-2.0
// Residency by KV head: while no head evicts on its own, it equals residency by layer, bit for bit; an eviction from
// one head changes only the rows that this head's queries see; adaptive budgets (AdaKV) hold, are unequal where the
// heads are, and give memory back.
#include "core/session/truth.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

constexpr int kPrompt = 60;

json byHead(json more = json::object()) {
  more["residency"] = "kv_head";
  return more;
}

json adaptive(int capacity, json more = json::object()) {
  more["policy"] = {{"name", "adakv"}, {"sinks", 1}, {"window", 4}, {"observe", 8}, {"capacity", capacity}};
  return more;
}

void compare(const SessionFixture& layers, const SessionFixture& heads) {
  QCOMPARE(heads.tokens(), layers.tokens());
  QCOMPARE(heads.logits(), layers.logits());
  QCOMPARE(heads.values(), layers.values());
  QCOMPARE(heads.damage(), QByteArray());
}

}  // namespace

class HeadResidency : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void nothingTellsItFromLayers_data() {
    QTest::addColumn<QString>("manifest");
    for (const char* manifest :
         {R"({})", R"({"dtype":"bf16"})", R"({"position":"cache"})", R"({"position":"absolute"})",
          R"({"key_phase":"at_write"})", R"({"layout":"paged:block=4"})", R"({"layout":"contiguous_splice"})",
          R"({"layout":"ring_lut","ring":{"window":24}})", R"({"kv":{"k":"int8","v":"fp8-e4m3"}})",
          R"({"prefill_chunk":7})", R"({"executor":"descending"})", R"({"after_edit":"recompute"})",
          R"({"new_rows":"embedding_only"})", R"({"policy":"streaming_llm:sinks=2,window=20"})",
          R"({"model":"synthetic:tiny:layers=3"})"})
      QTest::newRow(manifest) << QString(manifest);
  }
  void nothingTellsItFromLayers() {
    QFETCH(QString, manifest);
    const json own = json::parse(manifest.toStdString());
    SessionFixture layers(own), heads(byHead(own));
    QVERIFY(layers->model().config().kvHeads > 1);
    QCOMPARE(heads->cacheLayers().count(), layers->cacheLayers().count() * layers->model().config().kvHeads);
    const auto both = [&](const char* verb, const json& args) {
      const Result<json> a = layers.verb(verb, args), b = heads.verb(verb, args);
      QCOMPARE(bool(a), bool(b));
      if (!a) QCOMPARE(b.error().code, a.error().code);
    };
    both("promptIds", {{"ids", SessionFixture::ids(kPrompt)}});
    compare(layers, heads);
    both("step", {{"n", 3}});
    both("apply",
         {{"actions",
           {{{"action", "replace_pair"}, {"original_pos1", 50}, {"original_pos2", 51}, {"new_token_ids", {7}}}}}});
    both("apply",
         {{"actions",
           {{{"action", "insert"}, {"position", 45}, {"token_ids", {11, 12}}},
            {{"action", "delete"}, {"position", 58}}}}});
    compare(layers, heads);
    both("step", {{"n", 2}});
    both("undo", {});
    both("redo", {});
    both("rebuild", {});
    both("step", {{"n", 2}});
    compare(layers, heads);
    if (own.value("layout", "").starts_with("ring")) return;
    both("evict", {{"layer", 1}, {"ledger", {20, 21, 30}}, {"now", true}});
    both("step", {{"n", 2}});
    compare(layers, heads);
  }

  /// Only a head's own queries see its eviction: attention of the others stays as it was.
  void anEvictionIsOneHeadsOwn() {
    SessionFixture s(byHead());
    s.prompt(kPrompt);
    const json before[] = {s.must("attention", {{"layer", 1}, {"kvHead", 0}}),
                           s.must("attention", {{"layer", 1}, {"kvHead", 1}})};
    s.must("evict", {{"layer", 1}, {"kvHead", 1}, {"ledger", {10, 11, 12}}, {"now", true}});
    QCOMPARE(s.must("attention", {{"layer", 1}, {"kvHead", 0}}), before[0]);
    const json after = s.must("attention", {{"layer", 1}, {"kvHead", 1}});
    QCOMPARE(s.must("pos2ledger", {{"layer", 1}, {"kvHead", 0}}).size(), static_cast<std::size_t>(kPrompt));
    QCOMPARE(s.must("pos2ledger", {{"layer", 1}, {"kvHead", 1}}).size(), static_cast<std::size_t>(kPrompt - 3));
    for (std::size_t head = 0; head < after.size(); ++head) {
      // The remaining rows of the softmax share the weight of the evicted rows.
      double gone = 0;
      for (std::size_t i : {10, 11, 12}) gone += before[1][head][i].get<double>();
      for (std::size_t i = 0; i < after[head].size(); ++i) {
        const double had = before[1][head][i < 10 ? i : i + 3].get<double>();
        QVERIFY2(std::abs(after[head][i].get<double>() - had / (1 - gone)) < 1e-5,
                 qPrintable(QString("head %1 row %2").arg(head).arg(i)));
      }
    }
    QCOMPARE(s.damage(), QByteArray());
    const std::string hash = s.hash();
    s.must("undo");
    QCOMPARE(s.must("attention", {{"layer", 1}, {"kvHead", 1}}), before[1]);
    s.must("redo");
    QCOMPARE(s.hash(), hash);
    s.must("step", {{"n", 3}});
    QCOMPARE(s.must("pos2ledger", {{"layer", 1}, {"kvHead", 1}}).size(), static_cast<std::size_t>(kPrompt));
    QCOMPARE(s.must("rebuild")["layers"].get<int>(), s->cacheLayers().layers);
    const json drift = s.must("drift");
    QCOMPARE(drift["worst"], json(nullptr));
    QCOMPARE(s.damage(), QByteArray());
  }

  /// Both heads one after the other are the layer.
  void headsMakeALayer() {
    SessionFixture layers, heads(byHead());
    for (const SessionFixture* one : {&layers, &heads}) one->prompt(kPrompt);
    layers.must("evict", {{"layer", 0}, {"ledger", {5, 6, 40}}, {"now", true}});
    for (int head = 0; head < heads->state().perLayer; ++head)
      heads.must("evict", {{"layer", 0}, {"kvHead", head}, {"ledger", {5, 6, 40}}, {"now", true}});
    for (const SessionFixture* one : {&layers, &heads}) one->must("step", {{"n", 4}});
    compare(layers, heads);
  }

  /// A script's layer is one of the model, and each of its heads is meant.
  void breakpointsNameALayerOfTheModel() {
    SessionFixture s(byHead({{"layers", {{{"match", 1}, {"layout", "ring_fused"}}}},
                             {"ring", {{"window", 12}}},
                             {"staging", 8},
                             {"prefill_chunk", 8}}));
    s.prompt(9);
    s.must("break", {{"condition", "wrap(layer==1)"}});
    QCOMPARE(s.must("run", {{"maxTicks", 64}})["stoppedBy"], "wrap(layer==1)");
    QVERIFY(s.must("ring", {{"layer", 1}, {"kvHead", 0}})["wraps"] == 1);
  }

  /// People read the layer of the model and its head.
  void violationsNameTheHead() {
    SessionFixture s(byHead({{"faults", true}}));
    s.prompt(20);
    s.must("fault", {{"kind", "value_bit"}, {"layer", 3}, {"index", 5}});
    QVERIFY2(s.damage().contains("layer 1.1, index 5"), s.damage());
  }

  void refusals() {
    SessionFixture layers, heads(byHead());
    for (const SessionFixture* one : {&layers, &heads}) one->prompt(20);
    const std::string hash = heads.hash();
    const auto code = [](const SessionFixture& s, const char* verb, const json& args) {
      const Result<json> done = s.verb(verb, args);
      return done ? QString("done") : QString::fromStdString(done.error().code + " " + done.error().field);
    };
    QCOMPARE(code(layers, "evict", {{"layer", 0}, {"kvHead", 0}, {"ledger", {3}}, {"now", true}}),
             QString("unsupported kv_head"));
    QCOMPARE(code(heads, "evict", {{"layer", 0}, {"kvHead", 9}, {"ledger", {3}}, {"now", true}}),
             QString("out_of_range kv_head"));
    QCOMPARE(code(heads, "evict", {{"layer", heads->cacheLayers().layers}, {"ledger", {3}}, {"now", true}}),
             QString("out_of_range layer"));
    QCOMPARE(code(heads, "quantisation", json::object()), QString("unsupported residency"));
    QCOMPARE(code(heads, "saveCache", {{"path", "/nowhere/at/all"}, {"form", "hf_tuple"}}),
             QString("unsupported form"));
    QCOMPARE(code(layers, "settings", {{"policy", "adakv:capacity=10,window=2"}}),
             QString("bad_manifest policy.head_budget"));
    QVERIFY(!heads.verb("rows", {{"layer", 0}}));  // which head?
    QCOMPARE(heads.hash(), hash);
    const Result<Manifest> contradiction =
        Manifest::fromJson({{"model", "synthetic:tiny"}, {"residency", "layer"}, {"policy", "adakv"}});
    QVERIFY(contradiction);
    QVERIFY(!openSession(*contradiction, KVLAB_RESOURCES_DIR));
  }

  /// The budget of a layer is shared out by the scores of all its heads, once; memory follows.
  void adaptiveBudgets() {
    constexpr int kCapacity = 20;
    SessionFixture s(adaptive(kCapacity)), same(adaptive(kCapacity));
    const int parts = s->state().perLayer;
    QVERIFY(parts > 1);
    for (const SessionFixture* one : {&s, &same}) one->prompt(kPrompt);
    std::vector<int> budgets;
    const json audit = s.must("policies");
    for (const json& layer : audit["layers"]) budgets.push_back(layer["bands"]["budget"].get<int>());
    bool unequal = false;
    for (std::size_t layer = 0; layer < budgets.size(); layer += static_cast<std::size_t>(parts)) {
      const auto first = budgets.begin() + static_cast<std::ptrdiff_t>(layer);
      QCOMPARE(std::accumulate(first, first + parts, 0), parts * (kCapacity - 5));
      for (int head = 0; head < parts; ++head) QVERIFY(first[head] >= 3);  // alpha 0.2 of 15
      unequal = unequal || *std::max_element(first, first + parts) > *std::min_element(first, first + parts);
    }
    QVERIFY(unequal);
    const json before = s.must("bytes");
    QVERIFY(!s.verb("settings", {{"capacity", kCapacity}}));  // no room for the row of a tick
    s.must("settings", {{"capacity", kCapacity + 1}});
    const json after = s.must("bytes");
    QCOMPARE(after["live"], before["live"]);
    std::int64_t wanted = 0;  // each head's pool has room for its own bands and the row of a tick, beside staging
    for (const CacheLayer layer : s->state().layers())
      wanted += s->store().pool(layer).stride() * (budgets[at(layer)] + 5 + 1 + s->manifest().staging);
    QCOMPARE(after["allocated"].get<std::int64_t>(), wanted);
    QVERIFY(wanted < before["allocated"].get<std::int64_t>());
    for (int tick = 0; tick < 12; ++tick) {
      for (const SessionFixture* one : {&s, &same}) one->must("step");
      QCOMPARE(s.values(), same.values());
      for (const CacheLayer layer : s->state().layers())
        QCOMPARE(s->state().map(layer).resident(), static_cast<std::size_t>(budgets[at(layer)] + 5));
    }
    QCOMPARE(s.damage(), QByteArray());
    const Result<std::unique_ptr<Session>> copy = s->fork();
    QVERIFY(copy);
    QCOMPARE(stateHash(**copy), stateHash(*s));
    for (int i = 0; i < 13; ++i) s.must("undo");
    QCOMPARE(s.must("bytes")["allocated"], before["allocated"]);
  }
};

KV_TEST(HeadResidency)
#include "head_residency_test.moc"
