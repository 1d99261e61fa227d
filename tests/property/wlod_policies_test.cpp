// SPDX-License-Identifier: Apache-2.0
// Eviction policies over a working context: rows leave layers, entries and tree stay; whatever is edited, invariants
// hold, a rebuild is exact over the rows that are there, and recomputing the dirty rows gives the bits of a full
// recompute. History, files and captures lead to the same state.
#include <QTemporaryDir>

#include "core/api/layout_names.h"
#include "core/verbs/cache_session.h"
#include "core/verbs/capture_session.h"
#include "support/gate_file.h"
#include "support/runner.h"
#include "support/wlod_session.h"

namespace kvlab {
namespace {

json specOf(const std::string& name, const json& more = json::object()) {
  json spec{{"name", name}, {"sinks", 2}, {"window", 24}, {"capacity", 70}};
  if (name == "smartkv") spec["gates"] = gatesFile();
  spec.update(more);
  return spec;
}

json pyramidOf(bool near) {
  return {{"budget", 200},       {"protect", 16}, {"attention", "pyramid"}, {"w", 32}, {"w2", 1024},
          {"near_causal", near}, {"every", 8},    {"cooldown", 0}};
}

json flatOf() { return {{"budget", 160}, {"protect", 16}, {"every", 8}, {"cooldown", 0}}; }

/// Rows that layers lack, all layers together.
int gone(const SessionFixture& s) {
  int out = 0;
  for (const CacheLayer layer : s->state().layers()) out += s->state().group(layer).absent;
  return out;
}

/// A prompt that starts cold, tokens, edits of content and of detail.
void liveLong(const SessionFixture& s, unsigned seed, int edits = 14) {
  s.prompt(500, seed);
  s.must("step", {{"n", 3}});
  std::mt19937 random(seed);
  for (int i = 0; i < edits; ++i) {
    const auto [verb, args] = randomEdit(s, random);
    const Result<json> result = s.verb(verb, args);
    if (result && verb == "inject" && !s.verb("apply")) s.must("clearPending");
  }
}

/// The labels are honest: a row that a rebuild changes is not called exact.
bool labelsHold(const SessionFixture& s) {
  const ExactnessMap labels = exactnessMap(*s);
  const json drift = s.must("drift", {{"rows", true}});
  for (const CacheLayer layer : s->state().layers()) {
    const std::size_t l = at(layer);
    for (std::size_t i = 0; i < labels.layers[l].size(); ++i)
      if (labels.layers[l][i] == Exactness::Exact && drift["kRows"][l][i].is_number() &&
          drift["kRows"][l][i].get<double>() != 0)
        return false;
  }
  return true;
}

}  // namespace

class WlodPoliciesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void policies_data() {
    QTest::addColumn<QByteArray>("wlod");
    QTest::addColumn<QByteArray>("more");
    const auto row = [](const std::string& name, const json& wlod, const json& more) {
      QTest::newRow(name.c_str()) << QByteArray::fromStdString(wlod.dump()) << QByteArray::fromStdString(more.dump());
    };
    const std::span<const LayoutName> all = layouts();
    std::size_t i = 0;
    for (const PolicyName& one : kvlab::policies()) {
      if (one.name == "full") continue;
      const std::string name(one.name), layout(all[i % all.size()].name);
      const char* const type = i % 3 == 0 ? "f32" : i % 3 == 1 ? "int8" : "bf16";
      json more{{"policy", specOf(name)}, {"layout", layout}, {"kv", {{"k", type}, {"v", type}}}};
      if (i % 2) more["residency"] = "kv_head";
      json wlod = i % 3 == 0 ? flatOf() : pyramidOf(i % 3 == 1);
      if (i % 4 == 1) wlod["recompute"] = "incremental";
      if (i % 4 == 3) wlod["recompute"] = "full";
      row(name + ", " + layout, wlod, more);
      ++i;
    }
    row("by layer", flatOf(),
        {{"layers", {{{"match", "0"}, {"policy", specOf("h2o")}, {"window", 100}}}}, {"layout", "paged:block=4"}});
    row("selective", pyramidOf(false), {{"policy", specOf("h2o")}, {"wlod_selective", true}, {"history_bytes", 0}});
    row("a share", flatOf(), {{"policy", {{"name", "snapkv"}, {"ratio", 0.4}, {"window", 8}}}});
    row("nothing but a budget", pyramidOf(true), {{"policy", {{"name", "tova"}, {"window", 0}, {"budget", 30}}}});
  }
  void policies() {
    QFETCH(QByteArray, wlod);
    QFETCH(QByteArray, more);
    json settings = json::parse(wlod.toStdString()), keys = json::parse(more.toStdString());
    if (keys.erase("wlod_selective")) settings["recompute"] = "selective";
    const SessionFixture s(manifest(settings, keys));
    liveLong(s, 3);
    s.must("step", {{"n", 2}});
    QVERIFY(gone(s) > 0);
    QVERIFY2(s.damage().isEmpty(), s.damage().constData());
    QVERIFY(labelsHold(s));
    const json audit = s.must("policies");
    int evicted = 0;
    for (const json& layer : audit["layers"]) evicted += layer["evictedEver"].get<int>();
    QVERIFY(evicted >= gone(s) || s->state().tick.value() > 0);
    const int before = gone(s);
    const std::string hash = s.hash();
    s.must("rebuild");
    QCOMPARE(gone(s), before);
    QCOMPARE(drift(s), 0.0);
    QVERIFY2(s.damage().isEmpty(), s.damage().constData());
    const std::vector<float> values = s.values();
    s.must("rebuild");
    QVERIFY(s.values() == values);
    s.must("undo");
    s.must("undo");
    QCOMPARE(s.hash(), hash);
    for (int i = 0; i < 3; ++i) s.must("undo");
    QVERIFY2(s.damage().isEmpty(), s.damage().constData());
    for (int i = 0; i < 3; ++i) s.must("redo");
    QCOMPARE(s.hash(), hash);
  }

  /// Without a protected tail a prompt may end in summaries alone, and these are no queries: the earlier observation
  /// stays.
  void summariesObserveNothing_data() {
    QTest::addColumn<QString>("policy");
    QTest::addColumn<bool>("pyramid");
    QTest::addColumn<bool>("heads");
    for (const char* policy : {"snapkv", "pyramidkv", "adakv", "expected_attention"})
      for (const bool pyramid : {false, true})
        for (const bool heads : {false, true})
          if (heads || std::string(policy) != "adakv")  // its budgets are shared out among heads
            QTest::addRow("%s %d %d", policy, pyramid, heads) << QString(policy) << pyramid << heads;
  }
  void summariesObserveNothing() {
    QFETCH(QString, policy);
    QFETCH(bool, pyramid);
    QFETCH(bool, heads);
    const SessionFixture s(manifest(
        {{"budget", 64},
         {"protect", 0},
         {"start_tokens", 40},
         {"start_gists", 512},
         {"w", 32},
         {"w2", 1024},
         {"attention", pyramid ? "pyramid" : "flat"}},
        {{"policy", {{"name", policy.toStdString()}, {"capacity", 50}}}, {"residency", heads ? "kv_head" : "layer"}}));
    bool alone = false;
    for (unsigned i = 0; i < 40; ++i) {
      s.prompt(60, i);
      const Column<TreeNode>& entries = wlodIn(s->state()).context.entries();
      alone = alone || std::ranges::all_of(entries.span(), [](TreeNode entry) { return entry.level > 0; });
    }
    QVERIFY(alone);
    s.must("step", {{"n", 2}});
    QVERIFY2(s.damage().isEmpty(), s.damage().constData());
  }

  /// If rows are exact over the resident rows, recomputing only the dirty rows gives the same result as recomputing
  /// all.
  void incrementalIsFull_data() {
    QTest::addColumn<bool>("pyramid");
    QTest::addColumn<QString>("policy");
    QTest::addColumn<bool>("heads");
    for (const char* policy : {"streaming_llm", "h2o", "smartkv", "random"})
      for (const bool pyramid : {false, true})
        QTest::addRow("%s %d", policy, pyramid) << pyramid << QString(policy) << (policy[0] == 's');
  }
  void incrementalIsFull() {
    QFETCH(bool, pyramid);
    QFETCH(QString, policy);
    QFETCH(bool, heads);
    const QTemporaryDir folder;
    const std::string file = folder.filePath("a.safetensors").toStdString();
    std::vector<std::vector<float>> values, logits;
    for (const char* recompute : {"incremental", "full"}) {
      json wlod = pyramid ? pyramidOf(true) : flatOf();
      wlod["recompute"] = recompute;
      wlod["lens"] = "off";
      const SessionFixture s(manifest(wlod,
                                      {{"policy", specOf(policy.toStdString())},
                                       {"residency", heads ? "kv_head" : "layer"},
                                       {"kv", {{"v", "int8"}}}}));
      if (values.empty()) {
        s.prompt(150);
        s.must("step", {{"n", 2}});
        QVERIFY(gone(s) > 0);
        s.must("rebuild");
        s.must("saveCache", {{"path", file}});
      } else {
        s.must("loadCache", {{"path", file}});
      }
      s.must("settings", {{"policy", "full"}});
      s.must("collapse", {{"node", id(1, 32)}, {"now", true}});
      s.must("inject", {{"actions", {{{"action", "replace"}, {"positions", {20}}, {"new_token_ids", {9}}}}}});
      s.must("apply");
      s.must("expand", {{"node", id(1, 32)}, {"now", true}});
      QVERIFY(gone(s) > 0);
      QCOMPARE(drift(s), 0.0);
      QVERIFY2(s.damage().isEmpty(), s.damage().constData());
      values.push_back(s.values());
      logits.push_back(s.logits());
    }
    QVERIFY(values[0] == values[1]);
    QVERIFY(logits[0] == logits[1]);
  }

  /// An entry that has left a layer stays away from it when it is computed again; new entries are in every layer.
  void residencyFollowsEntries() {
    const SessionFixture s(
        manifest({{"budget", 300}, {"protect", 0}, {"cooldown", 0}, {"lens", "off"}, {"attention", "pyramid"}},
                 {{"layers", {{{"match", "0"}, {"policy", specOf("sliding_window", {{"capacity", 40}})}}}}}));
    s.prompt(128);
    const CacheState first = s->state();
    QCOMPARE(first.map(CacheLayer(1)).size(), std::size_t{128});
    QVERIFY(first.map(CacheLayer(0)).size() < 128);
    QVERIFY(first.ledger[first.context[0]].state == RowState::Live);
    s.must("settings", {{"policy", "full"}});
    s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 10}}}}});
    s.must("apply");
    QCOMPARE(s->state().map(CacheLayer(0)).size(), first.map(CacheLayer(0)).size());
    s.must("collapse", {{"node", id(1, 32)}, {"now", true}});
    QCOMPARE(s->state().map(CacheLayer(0)).size(), first.map(CacheLayer(0)).size() + 1);
    s.must("expand", {{"node", id(1, 32)}, {"now", true}});
    QCOMPARE(s->state().map(CacheLayer(0)).size(), first.map(CacheLayer(0)).size() + 32);
    QVERIFY2(s.damage().isEmpty(), s.damage().constData());
  }

  /// A gist takes over the attention that its block received; tokens take over that of their gist.
  void statisticsFollow() {
    const SessionFixture s(manifest({{"budget", 300}, {"protect", 0}, {"cooldown", 0}, {"lens", "off"}},
                                    {{"policy", specOf("h2o", {{"capacity", 280}})}}));
    s.prompt(128);
    s.must("step");
    const auto received = [&](std::size_t from, std::size_t count) {
      const CacheState& state = s->state();
      const std::vector<float> all =
          alignedWith(state.map(CacheLayer(1)), state.policy->layers[1].received, s->model().config().kvHeads, -1);
      double sum = 0;
      for (std::size_t i = from; i < from + count; ++i) sum += double(all[i]);
      return sum;
    };
    const double block = received(32, 32), token = received(0, 1);
    QVERIFY(block > 0);
    s.must("collapse", {{"node", id(1, 32)}, {"now", true}});
    QVERIFY(std::abs(received(32, 1) - block) < 1e-4);
    QVERIFY(std::abs(received(0, 1) - token) < 1e-5);
    s.must("expand", {{"node", id(1, 32)}, {"now", true}});
    QVERIFY(std::abs(received(40, 1) - block / 32) < 1e-5);
  }

  void draftsKeepEveryRow_data() {
    QTest::addColumn<QByteArray>("layout");
    for (const LayoutName& layout : layouts())
      QTest::newRow(std::string(layout.name).c_str()) << QByteArray::fromStdString(std::string(layout.name));
  }
  void draftsKeepEveryRow() {
    QFETCH(QByteArray, layout);
    json wlod = pyramidOf(false);
    wlod["lens"] = "off";
    const SessionFixture s(manifest(wlod, {{"policy", specOf("h2o")}, {"layout", layout.toStdString()}}));
    s.prompt(150);
    s.must("step", {{"n", 3}});
    const std::string before = s.hash();
    const int away = gone(s);
    s.must("speculate", {{"tokens", SessionFixture::ids(8, 3)}});
    s.must("step");
    QCOMPARE(gone(s), away);
    s.must("rollback");
    QCOMPARE(s.hash(), before);
    QVERIFY2(s.damage().isEmpty(), s.damage().constData());
    s.must("speculate", {{"tokens", {4, 5}}});
    s.must("accept");
    s.must("step");
    QVERIFY(gone(s) > away);
    QVERIFY2(s.damage().isEmpty(), s.damage().constData());
  }

  void filesAndCaptures_data() { policies_data(); }
  void filesAndCaptures() {
    QFETCH(QByteArray, wlod);
    QFETCH(QByteArray, more);
    json settings = json::parse(wlod.toStdString()), keys = json::parse(more.toStdString());
    keys.erase("wlod_selective");
    const QTemporaryDir folder;
    const std::string cache = folder.filePath("a.safetensors").toStdString(),
                      capture = folder.filePath("a.kvcap").toStdString();
    const SessionFixture a(manifest(settings, keys)), b(manifest(settings, keys));
    liveLong(a, 5, 6);
    QVERIFY(gone(a) > 0);
    a.must("saveCache", {{"path", cache}});
    b.must("loadCache", {{"path", cache}});
    QCOMPARE(b.hash(), a.hash());
    a.must("step", {{"n", 9}});
    b.must("step", {{"n", 9}});
    QCOMPARE(b.hash(), a.hash());
    QVERIFY2(b.damage().isEmpty(), b.damage().constData());
    const Result<std::unique_ptr<Session>> fork = a->fork();
    QVERIFY(fork);
    QCOMPARE(stateHash((*fork)->state(), (*fork)->store(), {}), a.hash());
    QVERIFY(saveCapture(*a, capture));
    const Result<Replay> replay = replayCapture(capture, KVLAB_RESOURCES_DIR, {.to = {}, .verify = true});
    QVERIFY2(replay, replay ? "" : replay.error().text().c_str());
    QVERIFY(replay->ok());
    QCOMPARE(stateHash(replay->session->state(), replay->session->store(), {}), a.hash());
  }

  /// Rows behind the window of a ring leave it; passes that need them compute them again.
  void ringWindows_data() {
    QTest::addColumn<QByteArray>("wlod");
    QTest::addColumn<QByteArray>("more");
    int i = 0;
    for (const LayoutName& layout : layouts()) {
      if (!layout.name.starts_with("ring")) continue;
      for (const bool pyramid : {false, true}) {
        const json more{{"layout", layout.name},
                        {"ring", {{"window", 40}}},
                        {"residency", i % 2 ? "kv_head" : "layer"},
                        {"kv", {{"v", i % 3 ? "int8" : "f16"}}},
                        {"layers", {{{"match", "0"}, {"layout", i % 4 ? layout.name : "indirection"}}}}};
        json wlod = pyramid ? pyramidOf(i % 4 == 1) : flatOf();
        const char* const ways[] = {"incremental", "chosen", "selective", "keep"};
        wlod["recompute"] = ways[i % 4];
        QTest::addRow("%s %d", std::string(layout.name).c_str(), i++)
            << QByteArray::fromStdString(wlod.dump()) << QByteArray::fromStdString(more.dump());
      }
    }
  }
  void ringWindows() {
    QFETCH(QByteArray, wlod);
    QFETCH(QByteArray, more);
    const json settings = json::parse(wlod.toStdString()), keys = json::parse(more.toStdString());
    const std::string way = settings.value("recompute", "");
    const bool drifts = way == "selective" || way == "keep";
    const SessionFixture s(manifest(settings, keys)), other(manifest(settings, keys));
    s.prompt(150, 4);
    const auto last = [&] {
      const ResidencyView& map = s->state().map(CacheLayer(s->cacheLayers().count() - 1));
      return std::pair(map.phases[map.size() - 1] - map.phases[static_cast<std::size_t>(map.first)], map.first);
    };
    QVERIFY(last().second > 0 && last().first < 40 + 32);
    QVERIFY(drifts || drift(s) == 0);
    std::mt19937 random(9);
    for (int i = 0; i < 25; ++i) {
      const auto [verb, args] = randomEdit(s, random);
      const Result<json> result = s.verb(verb, args);
      if (result && verb == "inject" && !s.verb("apply")) s.must("clearPending");
      QVERIFY2(s.damage().isEmpty(), (QByteArray::fromStdString(verb + args.dump()) + s.damage()).constData());
      QVERIFY2(drifts || drift(s) == 0, (verb + args.dump()).c_str());
    }
    s.must("step", {{"n", 9}});
    QVERIFY(last().second > 0);
    const std::string hash = s.hash();
    const QTemporaryDir folder;
    const std::string file = folder.filePath("a.safetensors").toStdString();
    s.must("saveCache", {{"path", file}});
    other.must("loadCache", {{"path", file}});
    QCOMPARE(other.hash(), hash);
    for (const SessionFixture* one : {&s, &other}) one->must("step", {{"n", 4}});
    QCOMPARE(other.hash(), s.hash());
    for (int i = 0; i < 4; ++i) s.must("undo");
    QCOMPARE(s.hash(), hash);
    s.must("speculate", {{"tokens", {4, 5, 6}}});
    s.must("step");
    s.must("rollback");
    QCOMPARE(s.hash(), hash);
    QVERIFY2(s.damage().isEmpty(), s.damage().constData());
  }

  /// With a policy as well: it chooses among the rows that the window leaves.
  void ringAndPolicy() {
    const SessionFixture s(manifest(flatOf(),
                                    {{"layout", "ring_fused"},
                                     {"ring", {{"window", 60}}},
                                     {"policy", specOf("h2o", {{"capacity", 30}, {"window", 10}})}}));
    liveLong(s, 6);
    s.must("step", {{"n", 3}});
    for (const CacheLayer layer : s->state().layers()) QVERIFY(s->state().map(layer).resident() <= 30);
    QVERIFY2(s.damage().isEmpty(), s.damage().constData());
    s.must("rebuild");
    QCOMPARE(drift(s), 0.0);
  }

  /// The round of focus that follows a prompt is a tick of its own: where it fails the prompt stands.
  void aFailedRoundLeavesThePrompt() {
    bool reached = false;
    for (int n = 1; n < 4000; n += 1 + n / 40) {
      json wlod = pyramidOf(true);
      wlod.update({{"budget", 160}, {"protect", 8}, {"edits", 1}, {"every", 32}, {"start_tokens", 16}, {"sigma", 0}});
      const SessionFixture s(manifest(wlod, {{"model", "synthetic:tiny:layers=3"}, {"policy", "h2o:capacity=12"}}));
      s.must("prompt", {{"text", "is in the . puts the anna anna the is"}});
      s.must("prompt", {{"text", "attic bob attic anna in in is"}});
      const int before = wlodIn(s->state()).tree.length();
      s->parts().faults.arm(FaultPoint::Kernel, n);
      const Result<json> done = s.verb("promptIds", {{"ids", {75, 124, 58, 121}}});
      if (s->parts().faults.armed()) break;
      QCOMPARE(wlodIn(s->state()).tree.length() != before, static_cast<bool>(done));
      reached = reached || done;
    }
    QVERIFY(reached);
  }

  void eventsAndStates() {
    const SessionFixture s(manifest(flatOf(), {{"policy", specOf("sliding_window", {{"capacity", 110}})}}));
    s.prompt(120);
    const CacheState& state = s->state();
    QVERIFY(state.ledger[state.context[5]].state == RowState::Evicted);  // no layer holds it
    QCOMPARE(state.length(), 120);
    const LedgerId token = state.context[5];
    const TickReport report = *s->health().report;
    QVERIFY(std::any_of(report.actions.begin(), report.actions.end(),
                        [](const Action& action) { return std::holds_alternative<Evict>(action); }));
    s.must("collapse", {{"node", id(1, 0)}, {"now", true}});
    QVERIFY(s->state().ledger[token].state == RowState::Collapsed);
    s.must("expand", {{"node", id(1, 0)}, {"now", true}});
    QVERIFY(s->state().ledger[token].state == RowState::Evicted);  // it came back everywhere, and left again
    QVERIFY2(s.damage().isEmpty(), s.damage().constData());
  }
};

}  // namespace kvlab

KV_TEST(kvlab::WlodPoliciesTest)
#include "wlod_policies_test.moc"
