// SPDX-License-Identifier: Apache-2.0
// Sessions that go on from a prompt that others have read have the rows, statistics and logits of one that read it
// alone, bit by bit, and each prompt is read once for all policies that gather the same.
#include "core/experiment/prompt_reads.h"
#include <cmath>
#include <set>

#include "core/policy/policy.h"
#include "core/session/ticks.h"
#include "support/gate_file.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

constexpr int kPrompted = 90;

/// All that the rows of a session can tell, but for the numbers of ticks, and statistics that its policies ask for.
json told(Session& session) {
  const CacheState& state = session.state();
  json out{{"context", state.context.size()},
           {"bytes", session.snapshot()->bytes.live},
           {"brightness", std::vector<float>(state.brightness.begin(), state.brightness.end())},
           {"random", {state.random[0], state.random[1]}}};
  for (const CacheLayer layer : state.layers()) {
    const ResidencyView& map = state.map(layer);
    const RowPool& pool = session.store().pool(layer);
    std::vector<std::uint8_t> rows(map.resident() * at(pool.stride()));
    pool.readRecords(map.slotOf.span().subspan(at(map.first)), rows.data());
    json ids, phases;
    for (std::size_t i = at(map.first); i < map.size(); ++i) {
      ids.push_back(map.ledger[i].value());
      phases.push_back(map.phase(i).value());
    }
    out["rows"].push_back({ids, phases, std::hash<std::string>()(std::string(rows.begin(), rows.end()))});
    if (!state.policy) continue;
    const LayerPolicyState& own = state.policy->layers[at(layer)];
    const bool asked = (needsOf(state.policy->specs[at(layer)]) & kReceived) != 0;
    for (const RowValues* values : {asked ? &own.received : nullptr, &own.observed, &own.scores}) {
      if (!values) continue;
      std::vector<float> known;
      if (values->map)
        known = alignedWith(map, *values, static_cast<int>(values->values.size() / values->map->size()), 0);
      for (float& value : known)
        if (std::isnan(value)) value = -1;  // equal to another one
      out["gathered"].push_back(known);
    }
  }
  return out;
}

/// Changes of a manifest that all sessions of a test have.
struct Base {
  const char* name;
  const char* change;
};
constexpr Base kBases[] = {
    {"plain", R"({})"},
    {"int8, paged", R"({"kv": {"k": "int8", "v": "int8"}, "layout": "paged:block=4"})"},
    {"a window in layer 1", R"({"layout": "ring_fused", "layers": [{"match": 1, "window": 24}]})"},
    {"absolute", R"({"position": "absolute"})"},
    {"by head", R"({"residency": "kv_head"})"},
};

json specOf(std::string_view policy) {
  json spec{{"name", policy}, {"ratio", 0.3}};
  if (policy == "smartkv") spec["gates"] = gatesFile();
  return policy == "full" ? json("full") : spec;
}

std::vector<json> policiesTried() {
  std::vector<json> out;
  for (const PolicyName& one : policies()) out.push_back({{"policy", specOf(one.name)}});
  out.push_back({{"policy", {{"name", "h2o"}, {"ratio", 0.6}}}});
  out.push_back({{"policy", {{"name", "snapkv"}, {"capacity", 20}, {"observe", 8}, {"allocator", "pyramid"}}}});
  out.push_back({{"layers", {{{"match", 0}, {"policy", "h2o:ratio=0.5"}}}}});
  return out;
}

}  // namespace

class PromptReadsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void sameBits_data() {
    QTest::addColumn<QByteArray>("base");
    for (const Base& base : kBases) QTest::newRow(base.name) << QByteArray(base.change);
  }
  void sameBits() {
    QFETCH(QByteArray, base);
    const SessionFixture host;
    std::vector<TokenId> prompt;
    for (const int id : SessionFixture::ids(kPrompted)) prompt.emplace_back(id);
    PromptReads together, alone;
    std::set<std::string> keys;
    std::vector<Manifest> manifests;
    for (const json& policy : policiesTried()) {
      json all = host->manifest().toJson();
      const json changes = json::parse(base.toStdString());
      all["history_bytes"] = 0;
      for (const auto& [key, value] : changes.items()) all[key] = value;
      for (const auto& [key, value] : policy.items())
        if (key == "layers") all[key].insert(all[key].end(), value.begin(), value.end());
        else all[key] = value;
      const Result<Manifest> manifest = Manifest::fromJson(all);
      if (!manifest) qFatal("%s", manifest.error().text().c_str());
      manifests.push_back(*manifest);
    }
    for (const Manifest& manifest : manifests) together.expect(*host, manifest);
    for (const Manifest& manifest : manifests) {
      auto future = std::make_shared<FutureMass>();
      future->rows = kPrompted;
      for (int layer = 0; layer < host->model().config().layers; ++layer) {
        future->mass.emplace_back();
        for (int row = 0; row < kPrompted; ++row) future->mass.back().push_back(float((row * 37 + layer) % 91));
      }
      auto want = alone.ended(*host, manifest, prompt, future, false);
      auto got = together.ended(*host, manifest, prompt, future, true);
      QCOMPARE(bool(got), bool(want));
      if (!want) {
        QCOMPARE(got.error().code, want.error().code);
        continue;
      }
      keys.insert(together.keyOf(manifest));
      for (int i = 0; i < 6; ++i) {
        const json a = told(**want), b = told(**got);
        QVERIFY2(
            a == b,
            qPrintable(QString("%1, %2 tokens behind the prompt").arg(manifest.policy.toJson().dump().c_str()).arg(i) +
                       json::diff(a, b).dump().substr(0, 400).c_str()));
        QVERIFY2(*(*want)->state().logits == *(*got)->state().logits, manifest.policy.toJson().dump().c_str());
        QVERIFY(step(**want, {TokenId(40 + i)}).ok && step(**got, {TokenId(40 + i)}).ok);
      }
    }
    QCOMPARE(together.work().tokens, std::int64_t(keys.size()) * kPrompted);
    QVERIFY(alone.work().tokens > 2 * together.work().tokens);
  }
};

KV_TEST(PromptReadsTest)
#include "prompt_reads_test.moc"
