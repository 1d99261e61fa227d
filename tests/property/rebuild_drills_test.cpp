// SPDX-License-Identifier: Apache-2.0
// One rebuild makes every invariant hold after every damage of the fault drill: in every layout, with and without
// policies and windows, and after ticks on the damaged cache. Rows that policies have evicted stay away, and lost ones
// come back. semantics.md, section 3 (rebuild).
#include <set>

#include "support/drills.h"
#include "support/gate_file.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

constexpr int kDrilledPrompt = 32;

/// What a session has besides a layout.
struct Drilled {
  const char* name;
  json more;
  bool everywhere = true;  // with each layout; else with one of each sort
  bool ticks = true;       // also with ticks on the damaged cache
};

const std::vector<Drilled>& drilledSessions() {
  static const std::vector<Drilled> kAll{
      {"plain", {{"kv", {{"k", "int8"}, {"v", "int8"}}}}},
      {"h2o", {{"policy", "h2o:ratio=0.5,window=4"}, {"kv", {{"k", "int8"}}}}},
      {"smartkv",
       {{"policy", {{"name", "smartkv"}, {"ratio", 0.5}, {"window", 4}, {"gates", gatesFile()}}},
        {"residency", "kv_head"}},
       true,
       false},
      {"windows", {{"ring", {{"window", 16}}}}},
      {"cache phases", {{"position", "cache"}, {"policy", "streaming_llm:capacity=16,window=8"}}, false, false},
      {"absolute", {{"position", "absolute"}}, false, false},
  };
  return kAll;
}

json drilledManifest(const std::string& layout, const json& more) {
  json out{{"faults", true}, {"layout", layout}, {"check", {{"level", "full"}}}};
  out.update(more);
  return out;
}

void liveSome(const SessionFixture& s) {
  s.prompt(kDrilledPrompt);
  s.must("inject",
         {{"actions",
           {{{"action", "replace"}, {"positions", {9, 10}}, {"new_token_ids", {7}}},
            {{"action", "delete"}, {"position", 20}}}}});
  s.must("apply");
  s.must("step", {{"n", 2}});
}

}  // namespace

class RebuildDrillsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void rebuildRepairs_data() { eachSession(false); }
  void rebuildRepairs() {
    QFETCH(QByteArray, manifest);
    SessionFixture s(json::parse(manifest.toStdString()));
    liveSome(s);
    QVERIFY(s.sound());
    const QByteArray trouble = drilled(s);
    QVERIFY2(trouble.isEmpty(), trouble);
  }

  void ticksOnDamage_data() { eachSession(true); }
  void ticksOnDamage() {
    QFETCH(QByteArray, manifest);
    SessionFixture s(json::parse(manifest.toStdString()));
    liveSome(s);
    const QByteArray trouble = drilled(s, 1);
    QVERIFY2(trouble.isEmpty(), trouble);
  }

  /// An entry that a map has lost comes back, and a row that was evicted does not.
  void lostIsNotEvicted() {
    SessionFixture s(drilledManifest("indirection", json::object()));
    s.prompt(kDrilledPrompt);
    s.must("inject", {{"actions", {{{"action", "evict"}, {"layer", 1}, {"ledger", {5, 6}}}}}});
    s.must("apply");
    s.must("rebuild");
    const std::string map = s.parts().at("map 1"), hash = s.hash();
    s.must("fault", {{"kind", "map_drop"}, {"layer", 1}, {"index", 5}, {"column", "entries"}});
    QVERIFY(s.parts().at("map 1") != map);
    s.must("rebuild");
    QCOMPARE(s.parts().at("map 1"), map);
    QCOMPARE(s.hash(), hash);
    QVERIFY(s.sound());
    s.must("undo");  // executes commands again up to the damage
    QVERIFY(s.parts().at("map 1") != map);
    s.must("undo");
    QCOMPARE(s.parts().at("map 1"), map);
    QVERIFY(s.sound());
  }

  /// Armed steps fail in a rebuild at most once each, and leave everything sound.
  void armedSteps() {
    for (const std::string& layout : drilledLayouts())
      for (const char* kind : {"allocation", "kernel", "copy"}) {
        SessionFixture s(drilledManifest(layout, json::object()));
        liveSome(s);
        s.must("rebuild");
        const std::string hash = s.hash();
        s.must("fault", {{"kind", "map_drop"}, {"layer", 0}, {"seed", 3}});
        s.must("fault", {{"kind", kind}, {"n", 1}});
        if (!s.verb("rebuild")) s.must("rebuild");
        QVERIFY2(s.sound(), layout.c_str());
        QVERIFY2(s.hash() == hash, layout.c_str());
      }
  }

  /// The layers that a cancelled rebuild has not reached stay damaged, and the next rebuild repairs them.
  void cancelled() {
    for (const std::string& layout : drilledLayouts()) {
      SessionFixture s(drilledManifest(layout, json::object()));
      liveSome(s);
      s.must("rebuild");
      const std::string hash = s.hash();
      s.must("fault", {{"kind", "map_drop"}, {"layer", 1}, {"seed", 3}, {"column", "entries"}});
      int calls = 0;
      s->setProgress([&](const std::string&, std::int64_t, std::int64_t) { return ++calls < 2; });
      const json cut = s.must("rebuild");
      s->setProgress({});
      QVERIFY2(cut.at("cancelled").get<bool>(), layout.c_str());
      s.must("rebuild");
      QVERIFY2(s.sound(), layout.c_str());
      QVERIFY2(s.hash() == hash, layout.c_str());
    }
  }

  /// A damaged order of rows misleads no pass that compares with a rebuild.
  void measuredOnDamage() {
    for (const DrillCall& drill : damagingDrills()) {
      SessionFixture s(drilledManifest("indirection", {{"kv", {{"k", "int8"}, {"v", "int8"}}}}));
      liveSome(s);
      json args = drill.fields;
      args.update({{"kind", drill.kind}, {"layer", 1}, {"seed", 3}});
      s.must("fault", args);
      for (const char* verb : {"drift", "quantisation"}) QVERIFY2(s.verb(verb), drill.text());
    }
  }

 private:
  static void eachSession(bool ticks) {
    QTest::addColumn<QByteArray>("manifest");
    const std::set<std::string> sorts{"indirection", "contiguous_splice", "paged:block=4", "ring_fused"};
    for (const std::string& layout : drilledLayouts())
      for (const Drilled& one : drilledSessions())
        if ((one.everywhere || sorts.contains(layout)) && (one.ticks || !ticks))
          QTest::addRow("%s %s", one.name, layout.c_str())
              << QByteArray::fromStdString(drilledManifest(layout, one.more).dump());
  }
};

KV_TEST(RebuildDrillsTest)
#include "rebuild_drills_test.moc"
