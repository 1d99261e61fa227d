// SPDX-License-Identifier: Apache-2.0
// Storage as a session has it: layouts and formats changed live, rings wrapped and cut, quantised rows,
// windows by layer, blocks rejected.
#include <cstring>

#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

json ringed(int window, const json& more = json::object()) {
  json out{
      {"layout", "ring_fused"}, {"ring", {{"window", window}}}, {"staging", 8}, {"prefill_chunk", 8}, {"guards", true}};
  out.update(more);
  return out;
}

/// Values of the resident rows of a layer, K then V, as read.
std::vector<float> gatheredRows(const SessionFixture& s, CacheLayer layer) {
  const RowPool& pool = s->store().pool(layer);
  const std::span<const Slot> slots = s->state().map(layer).residentSlots();
  std::vector<float> k(slots.size() * static_cast<std::size_t>(pool.width())), v(k.size());
  pool.gather(plain(slots), k.data(), v.data());
  k.insert(k.end(), v.begin(), v.end());
  return k;
}

std::vector<float> nextLogits(const SessionFixture& s) {
  json out = s.must("logits");
  return out.get<std::vector<float>>();
}

}  // namespace

class StorageTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void layoutsChangeLive() {
    SessionFixture s(json{{"staging", 16}});
    s.prompt(30);
    s.must("step", {{"n", 3}});
    const std::string before = s.hash();
    for (const LayoutName& layout : layouts()) {
      s.must("settings", {{"layout", std::string(layout.name)}});
      QCOMPARE(s.hash(), before);
      QVERIFY2(s.sound(), layout.name.data());
    }
    s.must("settings", {{"layers", json::array({{{"match", 1}, {"layout", "paged:block=4"}}})}});
    QCOMPARE(s.hash(), before);
    QCOMPARE(s.must("storage", {{"layer", 1}})["pages"]["block"], 4);
    QCOMPARE(s.must("storage", {{"layer", 0}})["layout"], "ring_fused");
    s.must("step", {{"n", 2}});
    const std::string after = s.hash();
    for (int i = 0; i < 3; ++i) s.must("undo");  // two ticks and a change of layout, executed again
    QCOMPARE(s.hash(), before);
    QCOMPARE(s.must("storage", {{"layer", 1}})["layout"], "ring_fused");
    for (int i = 0; i < 3; ++i) s.must("redo");
    QCOMPARE(s.hash(), after);
    QCOMPARE(s.must("storage", {{"layer", 1}})["layout"], "paged:block=4");
  }

  void refusedChangesChangeNothing() {
    SessionFixture s;
    s.prompt(10);
    const std::string before = s.hash();
    for (const auto& [verb, args] :
         {std::pair<std::string, json>{"settings", {{"layout", "heap"}}},
          {"settings", {{"layout", "paged:block=x"}}},
          {"settings", {{"kv", {{"k", "int4"}}}}},
          {"settings", {{"layers", json::array({{{"match", 0}, {"window", 8}}})}}},
          {"settings", {{"kv", {{"k", "int8"}}}, {"capacity", 3}}},
          {"settings", {{"layers", json::array({{{"match", 9}, {"kv", {{"v", "f16"}}}}})}}}}) {
      const Result<json> result = s.verb(verb, args);
      QVERIFY2(!result, args.dump().c_str());
      QVERIFY(!result.error().remedy.empty());
      QCOMPARE(s.hash(), before);
    }
    QVERIFY(!Manifest::fromJson({{"layers", {{{"match", "0-3"}, {"layout", "heap"}}}}}));
    QVERIFY(!Manifest::fromJson({{"layers", {{{"layout", "paged"}}}}}));
    QVERIFY(!Manifest::fromJson({{"layers", {{{"match", "3-1"}}}}}));
    QVERIFY(!Manifest::fromJson({{"ring", {{"window", -1}}}}));
  }

  void formatsConvertLive() {
    SessionFixture s(json{{"dtype", "f32"}});
    s.prompt(20);
    const std::vector<float> exact = gatheredRows(s, CacheLayer(1));
    s.must("settings", {{"layers", json::array({{{"match", 1}, {"kv", {{"k", "int8"}, {"v", "fp8-e4m3"}}}}})}});
    QVERIFY(s.sound());
    QCOMPARE(s.must("storage", {{"layer", 1}})["k"], "int8");
    QCOMPARE(s.must("storage", {{"layer", 0}})["k"], "f32");
    const std::vector<float> stored = gatheredRows(s, CacheLayer(1));
    double worst = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) worst = std::max(worst, double(std::abs(exact[i] - stored[i])));
    QVERIFY(worst > 0);
    s.must("step", {{"n", 2}});
    // Codes and scales that were read are found again: a way back through f32 loses nothing more.
    const std::vector<float> grown = gatheredRows(s, CacheLayer(1));
    s.must("settings", {{"layers", json::array({{{"match", 1}, {"kv", {{"k", "f32"}, {"v", "f32"}}}}})}});
    QVERIFY(gatheredRows(s, CacheLayer(1)) == grown);
    QVERIFY(s.sound());
  }

  void ringsWrapAndAreCut() {
    SessionFixture s(ringed(12));
    s.prompt(9);
    json ring = s.must("ring", {{"layer", 0}});
    QCOMPARE(ring["filled"], 9);  // a ring that is not full shows no row that was not written
    QCOMPARE(ring["head"], 0);
    QCOMPARE(ring["pointer"], 9);
    QCOMPARE(ring["capacity"], 21);
    QCOMPARE(s.must("rows", {{"layer", 0}}).size(), std::size_t(9));
    s.must("step", {{"n", 30}});
    ring = s.must("ring", {{"layer", 0}});
    QCOMPARE(ring["filled"], 12);
    QCOMPARE(ring["offset"], 39);
    QCOMPARE(ring["pointer"], 39 % 21);
    QCOMPARE(ring["wraps"], 1);
    QCOMPARE(ring["base"], 0);
    QCOMPARE(ring["len1"].get<int>() + ring["len2"].get<int>(), 12);
    // A trim behind a wrap: the ring is not full any more, and shows the rows before.
    s.must("inject",
           {{"actions",
             {{{"action", "delete"}, {"position", 38}},
              {{"action", "delete"}, {"position", 37}},
              {{"action", "delete"}, {"position", 36}}}}});
    s.must("apply");
    ring = s.must("ring", {{"layer", 0}});
    QCOMPARE(ring["filled"], 9);
    QVERIFY(ring["base"] != 0);
    QVERIFY(s.sound());
    QCOMPARE(s.must("rows", {{"layer", 0}}).back()["position"], 35);
    s.must("step", {{"n", 5}});
    QVERIFY(s.sound());
    QVERIFY(s.must("ring", {{"layer", 0}})["filled"] == 12);
  }

  void breakpointOnAWrap() {
    SessionFixture s(ringed(12));
    s.prompt(9);
    s.must("break", {{"condition", "wrap(layer==2)"}});
    const json run = s.must("run", {{"maxTicks", 64}});
    QCOMPARE(run["stoppedBy"], "wrap(layer==2)");
    QCOMPARE(s->state().length(), 21);
    QVERIFY(!s.verb("break", {{"condition", "wrap(slot==2)"}}));
  }

  void longPromptsRunThroughARing() {
    SessionFixture whole(ringed(12)), pieces(ringed(12));
    const std::vector<int> ids = SessionFixture::ids(70);
    whole.must("promptIds", {{"ids", ids}});
    for (std::size_t i = 0; i < ids.size(); i += 7)
      pieces.must("promptIds",
                  {{"ids",
                    std::vector<int>(ids.begin() + static_cast<std::ptrdiff_t>(i),
                                     ids.begin() + static_cast<std::ptrdiff_t>(i) + 7)}});
    for (const CacheLayer layer : whole->state().layers())
      QVERIFY(gatheredRows(whole, layer) == gatheredRows(pieces, layer));
    QVERIFY(nextLogits(whole) == nextLogits(pieces));
    QVERIFY(whole.sound());
  }

  /// A rebuild computes rows that left through the window again, so nothing drifts.
  void windowsDoNotDrift() {
    SessionFixture s(ringed(12));
    s.prompt(30);
    s.must("step", {{"n", 10}});
    const json drift = s.must("drift");
    for (const auto& k : drift["k"]) QCOMPARE(k.get<double>(), 0.0);
    QCOMPARE(drift["kl"].get<double>(), 0.0);
    const std::string before = s.hash();
    s.must("rebuild");
    QVERIFY(s.sound());
    QCOMPARE(s.hash(), before);  // the rebuild computed the very rows that were there
  }

  /// Position enters attention only as a difference: the same tokens further on in the same window see the
  /// same mixture (RoPE relativity), wrapped or not.
  void ropeIsRelativeInARing() {
    const std::vector<int> ids = SessionFixture::ids(8, 77);
    std::vector<std::vector<float>> seen;
    for (const int ahead : {0, 5, 11, 40}) {
      SessionFixture s(ringed(4, {{"dtype", "f32"}}));
      if (ahead) s.prompt(ahead);
      s.must("promptIds",
             {{"ids", std::vector<int>(16, 9)}});  // 16 rows of one token fill every window, layer by layer
      s.must("promptIds", {{"ids", ids}});
      seen.push_back(nextLogits(s));
    }
    for (std::size_t i = 1; i < seen.size(); ++i)
      for (std::size_t x = 0; x < seen[0].size(); ++x)
        QVERIFY2(std::abs(seen[i][x] - seen[0][x]) < 2e-4f, QByteArray::number(std::abs(seen[i][x] - seen[0][x])));
  }

  void layersOfOneModelDiffer() {
    SessionFixture s({{"staging", 8},
                      {"prefill_chunk", 8},
                      {"layers",
                       {{{"match", "1-2"}, {"layout", "ring_pointer"}, {"window", 6}, {"kv", {{"v", "int8"}}}},
                        {{"match", 3}, {"layout", "paged:block=8"}}}}});
    s.prompt(25);
    s.must("step", {{"n", 4}});
    QVERIFY(s.sound());
    QCOMPARE(s->state().map(CacheLayer(0)).resident(), std::size_t(29));
    QCOMPARE(s->state().map(CacheLayer(1)).resident(), std::size_t(6));
    QCOMPARE(s->state().map(CacheLayer(1)).first, 23);
    QCOMPARE(s.must("storage", {{"layer", 2}})["v"], "int8");
    QVERIFY(s.must("ring", {{"layer", 0}}).is_null());
    QVERIFY(s->store().pool(CacheLayer(1)).slots() <
            s->store().pool(CacheLayer(0)).slots() / 4);  // memory is really given back
    s.must("undo");
    QVERIFY(s.sound());
  }

  void blocksAreCommittedOrRejectedWhole() {
    for (const char* layout : {"indirection", "contiguous_splice", "paged:block=4", "ring_fused", "ring_roll"}) {
      SessionFixture s(
          ringed(12, {{"layout", layout}, {"faults", true}, {"ring", {{"window", 12}, {"block_tokens", 4}}}}));
      s.prompt(18);
      const std::string before = s.hash();
      s.must("fault", {{"kind", "kernel"}, {"n", 1 + 2 * s->cacheLayers().count()}});  // in the third token's pass
      const json report = s.must("step")[0];
      QCOMPARE(report["ok"], false);
      QCOMPARE(s.hash(), before);
      QVERIFY2(s.sound(), layout);
      const json done = s.must("step", {{"n", 3}});
      QCOMPARE(done.back()["block"].size(), std::size_t(4));
      QCOMPARE(s->state().length(), 18 + 12);
      QVERIFY2(s.sound(), layout);
    }
  }

  void quantisationIsMeasured() {
    SessionFixture s({{"dtype", "f32"},
                      {"kv", {{"k", "int8"}, {"v", "fp8-e4m3"}}},
                      {"layers", {{{"match", 0}, {"kv", {{"k", "f32"}, {"v", "f16"}}}}}}});
    s.prompt(24);
    s.must("step", {{"n", 2}});
    const json layers = s.must("quantisation", {{"rows", true}});
    QCOMPARE(layers[0]["k"]["worst"].get<double>(), 0.0);  // f32 holds the computed value
    QVERIFY(layers[0]["v"]["worst"].get<double>() > 0 && layers[0]["v"]["worst"].get<double>() < 1e-3);
    // Half a step of 1/127 of the largest value at most, so below that share of the row's length.
    QVERIFY(layers[1]["k"]["worst"].get<double>() > 1e-4 && layers[1]["k"]["worst"].get<double>() < 0.02);
    QVERIFY(layers[1]["v"]["worst"].get<double>() < 0.06);
    QVERIFY(layers[1]["worstLogit"].get<double>() > 0);
    QCOMPARE(layers[1]["k"]["relative"].size(), std::size_t(26));
    const json packed = s.must("quantisation", {{"rows", true}, {"packed", true}});
    for (const char* column : {"relative", "cosine", "scale"}) {
      std::vector<float> values(26);
      QCOMPARE(packed[1]["k"][column].get_binary().size(), values.size() * sizeof(float));
      std::memcpy(values.data(), packed[1]["k"][column].get_binary().data(), values.size() * sizeof(float));
      QCOMPARE(json(values), layers[1]["k"][column]);
    }
    QCOMPARE(packed[1]["v"]["atMax"].get_binary().size(), std::size_t(26 * 4));
    QCOMPARE(layers[0]["k"]["type"], "f32");
    QCOMPARE(layers[1]["v"]["type"], "fp8-e4m3");
    QCOMPARE(layers[1]["tick"], s->snapshot()->tick.value());
    const json counts = s.must("storage", {{"layer", 1}})["counts"];
    for (const char* tensor : {"k", "v"}) QCOMPARE(layers[1][tensor]["counts"], counts[tensor]);
    QVERIFY(counts["k"]["scales"].get<int>() >= 26);
    QCOMPARE(counts["k"]["clipped"], 0);
    QVERIFY(counts["k"]["atMax"].get<int>() >= counts["k"]["scales"].get<int>());
    QVERIFY(counts["k"]["scale"]["min"].get<double>() > 0);
    // Every reader reads the stored form, so a rebuild finds the same bits.
    const json drift = s.must("drift");
    for (const auto& k : drift["k"]) QCOMPARE(k.get<double>(), 0.0);
  }

  /// What a tick converted is in its report, layer by layer; facts, events and conditions say the same.
  void conversionsOfATick() {
    SessionFixture s(
        {{"kv", {{"k", "f16"}, {"v", "int8"}}}, {"layers", {{{"match", 0}, {"kv", {{"k", "f32"}, {"v", "f16"}}}}}}});
    s.prompt(24);
    const auto counts = [&s] { return s.must("storage", {{"layer", 2}})["counts"]["v"]; };
    const auto fact = [&s](const std::string& text) { return s.must("value", {{"expression", text}}).get<double>(); };
    const ModelConfig& config = s->model().config();
    for (int tick = 0; tick < 3; ++tick) {
      const json before = counts(), report = s.must("step")[0], after = counts();
      QCOMPARE(report["conversions"].size(), static_cast<std::size_t>(config.layers - 1));
      const json& own = report["conversions"][1];
      QCOMPARE(own["layer"], 2);
      const json& v = own["v"];
      QCOMPARE(own["k"]["values"], 0);
      QCOMPARE(v["values"], config.kvHeads * config.headDim);
      QCOMPARE(v["scales"], config.kvHeads);
      for (const char* count : {"scales", "nonFinite", "clipped", "atMax", "floored"})
        QCOMPARE(after[count].get<int>() - before[count].get<int>(), v[count].get<int>());
      const double least = v["scale"]["min"], mean = v["scale"]["mean"], most = v["scale"]["max"];
      QVERIFY(0 < least && least <= mean && mean <= most && after["scale"]["max"].get<double>() >= most);
      QCOMPARE(fact("scale_min(layer==2)"), least);
      QCOMPARE(fact("scale_mean(layer==2)"), mean);
      QCOMPARE(fact("scale_max(layer==2)"), most);
      QCOMPARE(fact("nonfinite(layer==2)"), 0.0);
      QCOMPARE(fact("saturated(layer==2)"), v["atMax"].get<double>() / v["values"].get<double>());
      QVERIFY(fact("scale_max") >= most && fact("scale_min") <= least);
      QVERIFY(s.must("value", {{"expression", "scale_max(layer==0)"}}).is_null());
      QCOMPARE(s.must("quantisation", {{"rows", true}})[2]["v"]["scale"].back().get<double>(), most);
      std::string told;
      for (const json& event : report["events"])
        if (event["name"] == "compute_rows") told = event["detail"];
      QVERIFY2(told.starts_with("1 row; ") && told.find(" values at the limit, 0 not finite, scales ") != told.npos,
               told.c_str());
    }
    const std::int64_t now = s->state().tick.value();
    const json known =
        s.must("ticksWhere", {{"condition", "scale_max(layer==2) > 0 and tick > " + std::to_string(now - 3)}});
    QCOMPARE(known, json({now - 2, now - 1, now}));
    const std::string column = "scale_max(layer==2)";
    const json ticks = s.must("ticks", {{"columns", {"tick", column}}, {"where", "tick > " + std::to_string(now - 2)}});
    QCOMPARE(ticks.size(), std::size_t(2));
    QCOMPARE(ticks[1][column], s.must("value", {{"expression", column}}));
    s.must("break", {{"condition", "scale_max(layer==3) > 0"}});
    QCOMPARE(s.must("step", {{"n", 5}}).size(), std::size_t(1));
    SessionFixture plain(json{{"kv", {{"k", "f16"}, {"v", "bf16"}}}});
    plain.prompt(8);
    QVERIFY(plain.must("step")[0]["conversions"].empty());
    QVERIFY(plain.must("value", {{"expression", "saturated"}}).is_null());
  }

  /// Values, tags and checksums are right, only the pairing with the scales is not: seen in the same tick,
  /// by the cheap checks, at both rows.
  /// Types that are tried have the figures of a session that stores its rows in them, and leave no trace.
  void typesAreTriedWithoutConverting() {
    const auto opened = [](const json& kv) {
      auto s = std::make_unique<SessionFixture>(json{{"staging", 16}, {"kv", kv}});
      s->prompt(30);
      return s;
    };
    const auto plainOne = opened({{"k", "f32"}, {"v", "f32"}});
    const json before = plainOne->must("quantisation", {{"rows", true}});
    const std::string hash = plainOne->hash();
    for (const auto& [k, v] : {std::pair{"int8", "f32"}, std::pair{"fp8-e4m3", "f16"}, std::pair{"bf16", "int8"}}) {
      json tried = plainOne->must("quantisation", {{"rows", true}, {"k", k}, {"v", v}});
      json stored = opened({{"k", k}, {"v", v}})->must("quantisation", {{"rows", true}});
      for (json* one : {&tried, &stored})
        for (json& layer : *one)
          for (const char* side : {"k", "v"}) layer[side].erase("counts"), layer.erase("tried");
      QCOMPARE(tried.dump(), stored.dump());
    }
    QCOMPARE(plainOne->hash(), hash);
    QCOMPARE(plainOne->must("quantisation", {{"rows", true}}).dump(), before.dump());
    QVERIFY(plainOne->must("quantisation", {{"v", "int8"}})[0]["tried"].get<bool>());
    QVERIFY(!before[0]["tried"].get<bool>());
  }

  void aScaleThatCameApartIsSeen() {
    for (const char* layout : {"indirection", "ring_pointer", "ring_roll"}) {
      SessionFixture s(
          ringed(12, {{"layout", layout}, {"faults", true}, {"guards", false}, {"kv", {{"k", "f16"}, {"v", "int8"}}}}));
      s.prompt(20);
      const int first = s->state().map(CacheLayer(2)).first;
      const json done =
          s.must("fault", {{"kind", "scale_swap"}, {"layer", 2}, {"index", first + 4}, {"other", first + 7}});
      const json report = s.must("step")[0];
      std::vector<int> rows;
      for (const json& violation : report["violations"]) {
        QCOMPARE(violation["invariant"], "row_tags");
        QCOMPARE(violation["layer"], 2);
        rows.push_back(violation["ledger"]);
      }
      QCOMPARE(rows, (std::vector<int>{first + 4, first + 7}));
      s.must("rebuild");
      QVERIFY(s.sound());
    }
    SessionFixture plain(json{{"faults", true}, {"dtype", "f32"}});
    plain.prompt(10);
    QVERIFY(!plain.verb("fault", {{"kind", "scale_swap"}}));
  }

  void compactionGivesRoomBack() {
    SessionFixture s({{"layout", "paged:block=4"}, {"staging", 32}});
    s.prompt(64);
    for (int i = 0; i < 8; ++i) {
      s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 5 + 4 * i}}}}});
      s.must("apply");
    }
    const json before = s.must("storage", {{"layer", 0}})["pages"];
    QVERIFY(before["fragmentation"].get<double>() > 0.05);
    const std::string hash = s.hash();
    int calls = 0;
    for (bool done = false; !done; ++calls) {
      done = s.must("compact", {{"rows", 10}})["done"].get<bool>();
      QCOMPARE(s.hash(), hash);
      QVERIFY(s.sound());
    }
    QVERIFY(calls > 2);
    const json after = s.must("storage", {{"layer", 0}})["pages"];
    QVERIFY(after["used"].get<int>() < before["used"].get<int>());
    QCOMPARE(after["used"].get<int>(), (s->state().length() + 3) / 4);
    s.must("undo");
    QVERIFY(s.sound());
  }
};

KV_TEST(StorageTest)
#include "storage_test.moc"
