// SPDX-License-Identifier: Apache-2.0
// An interval makes one tick of so many decide: rows gather beyond the bands, and all of them leave together. And
// scores that follow from a row alone are kept with it: whatever was edited, they are what the same rule makes of the
// keys anew.
#include "support/commits.h"
#include "support/gate_file.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

constexpr int kCapacity = 20, kEvery = 4, kPrompted = 60;

json every(std::string_view policy, int interval) {
  json spec{{"name", policy}, {"sinks", 2}, {"window", 5}, {"capacity", kCapacity}, {"allocator", "uniform"}};
  if (interval > 1) spec["interval"] = interval;
  if (policy == "smartkv") spec["gates"] = gatesFile();
  if (policy == "adakv") spec["preset"] = "kvpress";  // FFY0/AdaKV's rounding may miss a layer's budget by a row
  return {{"policy", spec}};
}

/// Rows of each layer of the model, all KV heads together, in parts of a head's.
std::vector<int> rowsByLayer(const SessionFixture& s) {
  const CacheLayers layers = s->cacheLayers();
  std::vector<int> out(at(layers.layers));
  for (const CacheLayer layer : s->state().layers())
    out[at(layers.layerOf(layer))] += static_cast<int>(s->state().map(layer).resident());
  for (int& rows : out) {
    if (rows % layers.perLayer != 0) return {};
    rows /= layers.perLayer;
  }
  return out;
}

}  // namespace

class PolicyIntervalsTest : public QObject {
  Q_OBJECT

  static void sameScores(const SessionFixture& one, const SessionFixture& other) {
    for (const CacheLayer layer : one->state().layers()) {
      const RowValues &a = one->state().policy->layers[at(layer)].scores,
                      &b = other->state().policy->layers[at(layer)].scores;
      QCOMPARE(a.map == nullptr, b.map == nullptr);
      if (!a.map) continue;
      QVERIFY(std::ranges::equal(a.map->ledger, b.map->ledger));
      QVERIFY2(std::ranges::equal(a.values, b.values), qPrintable(QString("layer %1").arg(layer.value())));
    }
  }

 private Q_SLOTS:
  void rowsLeaveTogether_data() {
    QTest::addColumn<QString>("policy");
    for (const PolicyName& one : policies())
      if (one.name != "full") QTest::newRow(one.name.data()) << QString::fromUtf8(one.name.data());
  }
  void rowsLeaveTogether() {
    QFETCH(QString, policy);
    SessionFixture s(every(policy.toStdString(), kEvery));
    s.prompt(kPrompted);
    std::vector<std::string> hashes{s.hash()};
    const std::size_t layers = at(s->cacheLayers().layers);
    QCOMPARE(rowsByLayer(s), std::vector<int>(layers, kCapacity));
    for (int tick = 1; tick <= 3 * kEvery; ++tick) {
      s.must("step");
      hashes.push_back(s.hash());
      QCOMPARE(rowsByLayer(s), std::vector<int>(layers, kCapacity + tick % kEvery));
      const json audits = s.must("policies");
      for (const json& layer : audits["layers"]) {
        QCOMPARE(layer["waiting"], kEvery - 1);
        QCOMPARE(layer["evicted"], tick % kEvery ? 0 : kEvery);
        QVERIFY(!layer["broken"].get<bool>());
      }
      const json told = s.must("decisions", {{"tick", s->state().tick.value()}});
      QCOMPARE(std::ranges::any_of(told, [](const json& one) { return one["event"] == "dropped"; }),
               tick % kEvery == 0);
      QCOMPARE(s.damage(), QByteArray());
    }
    for (std::size_t i = hashes.size() - 1; i-- > 0;) {
      s.must("undo");
      QCOMPARE(s.hash(), hashes[i]);
    }
    s.must("step", {{"n", 3 * kEvery}});
    QCOMPARE(s.hash(), hashes.back());
  }

  void pinnedRowsComeOnTop() {
    SessionFixture s(every("streaming_llm", kEvery));
    s.must("prefill", {{"ids", SessionFixture::ids(kPrompted)}, {"last", false}});
    for (int row = 2; row < 2 + kCapacity; ++row) s.must("pin", {{"ledger", row}});
    s.must("endPrefill");
    const int kept = 2 + kCapacity + 5;
    QCOMPARE(rowsByLayer(s), std::vector<int>(at(s->cacheLayers().layers), kept));
    for (int tick = 1; tick <= 2 * kEvery; ++tick) {
      s.must("step");
      QCOMPARE(rowsByLayer(s), std::vector<int>(at(s->cacheLayers().layers), kept + tick % kEvery));
      QCOMPARE(s.damage(), QByteArray());
    }
  }

  /// A tick decides as soon as the next one would have no room.
  void aFullLayerDoesNotWait() {
    json manifest = every("h2o", 16);
    manifest["capacity"] = kCapacity + 4;
    SessionFixture s(manifest);
    s.must("promptIds", {{"ids", SessionFixture::ids(kCapacity)}});
    for (int tick = 1; tick <= 20; ++tick) {
      s.must("step");
      const std::vector<int> rows = rowsByLayer(s);
      QVERIFY(rows[0] >= kCapacity && rows[0] < kCapacity + 4);
      QCOMPARE(s.must("policies")["layers"][0]["waiting"], 3);
      QCOMPARE(s.damage(), QByteArray());
    }
  }

  void everyTickUnlessGiven() {
    const PolicySpec plain = *PolicySpec::fromJson("h2o:capacity=20"), given = *PolicySpec::fromJson("h2o:interval=16");
    QCOMPARE(plain.interval, 1);
    QVERIFY(!plain.toJson().contains("interval"));
    QCOMPARE(given.interval, 16);
    QCOMPARE(*PolicySpec::fromJson(given.toJson()), given);
    for (const char* wrong : {"h2o:interval=0", "h2o:interval=2,threshold=0.5"}) {
      const Result<PolicySpec> refused = PolicySpec::fromJson(wrong);
      QVERIFY(!refused);
      QVERIFY(refused.error().code == "bad_manifest" && refused.error().field == "interval");
    }
    QVERIFY(PolicySpec::fromJson("h2o:interval=1,threshold=0.5"));
  }

  void scoresStayWithTheirRows_data() {
    QTest::addColumn<QString>("changes");
    for (const char* changes :
         {"{}", R"({"position":"cache"})", R"({"position":"absolute"})", R"({"key_phase":"at_write"})",
          R"({"key_phase":"at_write","position":"cache"})", R"({"layout":"contiguous_splice"})",
          R"({"layout":"paged:block=4"})", R"({"after_edit":"recompute"})", R"({"kv":{"k":"int8","v":"int8"}})",
          R"({"interval":3})"})
      QTest::newRow(changes) << QString(changes);
  }
  void scoresStayWithTheirRows() {
    QFETCH(QString, changes);
    const json more = json::parse(changes.toStdString());
    const auto manifest = [&](const char* policy) {
      json out = every(policy, more.value("interval", 1));
      out["residency"] = "kv_head";  // an expression has the norm of one head's key
      for (const auto& [key, value] : more.items())
        if (key != "interval") out[key] = value;
      return out;
    };
    json anew = manifest("score");
    anew["policy"]["by"] = "-key_norm";
    SessionFixture kept(manifest("knorm")), other(anew);
    std::mt19937 random(11);
    const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    const auto both = [&](const std::string& verb, const json& args) {
      const bool done = static_cast<bool>(kept.verb(verb, args));
      QCOMPARE(static_cast<bool>(other.verb(verb, args)), done);
    };
    both("promptIds", {{"ids", SessionFixture::ids(kPrompted)}});
    for (int i = 0; i < 60 && !QTest::currentTestFailed(); ++i) {
      const int place = pick(kept->state().length()), token = 3 + pick(250);
      json action;
      switch (pick(9)) {
        case 0: action = {{"action", "replace"}, {"positions", {place}}, {"new_token_ids", {token, token + 1}}}; break;
        case 1: action = {{"action", "delete"}, {"position", place}}; break;
        case 2: action = {{"action", "insert"}, {"position", place}, {"token_ids", {token}}}; break;
        case 3: both("undo", json::object()); break;
        case 4: both("redo", json::object()); break;
        case 5: both("rebuild", json::object()); break;
        default: both("step", {{"n", 1 + pick(3)}, {"tokens", {token}}});
      }
      if (!action.is_null()) both("inject", {{"actions", {action}}, {"now", true}});
      sameScores(kept, other);
      QCOMPARE(kept.rows(), other.rows());
    }
    QCOMPARE(kept.damage(), QByteArray());
  }
};

KV_TEST(PolicyIntervalsTest)
#include "policy_intervals_test.moc"
