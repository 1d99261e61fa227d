// SPDX-License-Identifier: Apache-2.0
// Rings in a session: the layers with a window, the slots of a pool, the rows of a map, the reports of rows that leave,
// and the ways in which readers find rows.
#include <functional>
#include <set>

#include "core/edit/assembly.h"
#include "core/edit/recompute.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

constexpr const char* kRings[] = {"ring_roll", "ring_pointer", "ring_lut", "ring_block_roll", "ring_fused"};

json windowed(const char* layout, int window, const json& more = json::object()) {
  json out{{"layout", layout}, {"ring", {{"window", window}}}, {"staging", 8}, {"prefill_chunk", 8}, {"guards", true}};
  out.merge_patch(more);
  return out;
}

/// The newest `count` records of a layer.
std::vector<std::uint8_t> newest(const SessionFixture& s, CacheLayer layer, std::size_t count) {
  const RowPool& pool = s->store().pool(layer);
  const std::span<const Slot> slots = s->state().map(layer).residentSlots();
  std::vector<std::uint8_t> out(count * static_cast<std::size_t>(pool.stride()));
  pool.readRecords(slots.last(count), out.data());
  return out;
}

json deletions(int from, int count) {
  json out = json::array();
  for (int i = 0; i < count; ++i) out.push_back({{"action", "delete"}, {"position", from + i}});
  return out;
}

/// Ticks and layers of the lines of one kind in a row's history; -1 = no layer.
std::vector<std::pair<int, int>> lines(const SessionFixture& s, int ledger, const std::string& event) {
  std::vector<std::pair<int, int>> out;
  for (const json& line : s.must("history", {{"ledger", ledger}}))
    if (line["event"] == event)
      out.emplace_back(line["tick"].get<int>(), line["layer"].is_null() ? -1 : line["layer"].get<int>());
  return out;
}

/// Compares the figures of ring() about slots with the map: the rows made since the ledger had `before` rows, and where
/// rows lie.
void checkFigures(const SessionFixture& s, std::int32_t before, const std::string& what) {
  const ResidencyView& map = s->state().map(CacheLayer(0));
  const json ring = s.must("ring", {{"layer", 0}});
  const std::span<const Slot> slots = map.residentSlots();
  std::vector<int> made;
  int wrapped = 0;
  for (std::size_t row = 0; row < slots.size(); ++row) {
    wrapped += slots[row] < slots.front();
    if (map.ledger[static_cast<std::size_t>(map.first) + row].value() >= before) made.push_back(slots[row].value());
  }
  const int capacity = ring["capacity"], begin = ring["write"][0], count = ring["write"][1];
  const int span = made.empty() ? 0 : (made.back() - made.front() + capacity) % capacity + 1;
  QVERIFY2(count == span && (made.empty() || begin == made.front()),
           (what + ": write " + ring["write"].dump()).c_str());
  std::vector<int> lies, resident;
  for (const json& run : ring["slots"])
    for (int i = 0; i < run[1]; ++i) lies.push_back(run[0].get<int>() + i);
  for (const json& row : s.must("rows", {{"layer", 0}})) resident.push_back(row["slot"]);
  QVERIFY2(lies == resident, (what + ": slots " + ring["slots"].dump()).c_str());
  QVERIFY2(ring["len2"] == wrapped && ring["len1"] == static_cast<int>(slots.size()) - wrapped, what.c_str());
}

/// Values in the back end's memory.
template <class T>
std::vector<T> fetched(kernels::Backend& backend, const T* from, std::int64_t count) {
  std::vector<T> out(static_cast<std::size_t>(count));
  const kernels::Copy one{out.data(), from, count * static_cast<std::int64_t>(sizeof(T))};
  if (count > 0) backend.download(std::span(&one, 1));
  return out;
}

/// Events of one name in the report of a tick.
std::vector<json> eventsOf(const json& report, const std::string& name) {
  std::vector<json> out;
  for (const json& event : report["events"])
    if (event["name"] == name) out.push_back(event);
  return out;
}

}  // namespace

class RingsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void aWindowIsOfRingsAlone() {
    SessionFixture s({{"layers", {{{"match", "0-1"}, {"layout", "ring_fused"}}}}, {"ring", {{"window", 48}}}});
    s.prompt(80);
    s.must("step", {{"n", 5}});
    for (const CacheLayer layer : idRange<CacheLayer>(0, 2))
      QCOMPARE(s->state().map(layer).resident(), std::size_t(48));
    for (const CacheLayer layer : idRange<CacheLayer>(2, 4)) {
      QCOMPARE(s->state().map(layer).resident(), std::size_t(85));
      QCOMPARE(s.must("storage", {{"layer", layer.value()}})["window"], 0);
    }
    QVERIFY(s.sound());
    const json drift = s.must("drift");
    for (const auto& k : drift["k"]) QCOMPARE(k.get<double>(), 0.0);
  }

  /// Rows that are inserted behind the window leave at once: nobody reads them, and others may use their slots.
  void insertsBehindTheWindow() {
    for (const char* layout : kRings) {
      SessionFixture s(windowed(layout, 24, {{"check", {{"level", "full"}}}}));
      s.prompt(62);
      const auto edit = [&](json actions) { s.must("inject", {{"actions", std::move(actions)}, {"now", true}}); };
      edit({{{"action", "insert"}, {"position", 14}, {"token_ids", {7, 9}}}});
      edit({{{"action", "replace"}, {"positions", {20}}, {"new_token_ids", {33}}}});
      edit({{{"action", "delete"}, {"position", 3}},
            {{"action", "insert"}, {"position", 10}, {"token_ids", {17}}},
            {{"action", "insert"}, {"position", 18}, {"token_ids", {19}}}});
      QVERIFY2(s.sound(), layout);
    }
  }

  /// A window holds the last rows of a cache with that mask, bit for bit.
  void aRingHoldsTheLastRows() {
    for (const char* layout : kRings)
      for (const char* v : {"f16", "int8"}) {
        const json kv{{"k", "f16"}, {"v", v}};
        SessionFixture ring(windowed(layout, 12, {{"kv", kv}}));
        SessionFixture all(
            {{"layout", "contiguous_splice"}, {"layers", {{{"match", "0-3"}, {"window", 12}}}}, {"kv", kv}});
        for (const SessionFixture* s : {&ring, &all}) s->prompt(9), s->must("step", {{"n", 30}});
        for (const CacheLayer layer : idRange<CacheLayer>(0, 4))
          QVERIFY(newest(ring, layer, 12) == newest(all, layer, 12));
        QCOMPARE(ring.must("logits"), all.must("logits"));
      }
  }

  void poolsAreAtMostTwoWindows() {
    for (const char* layout : kRings) {
      SessionFixture s({{"layout", layout}, {"ring", {{"window", 24}}}, {"staging", 64}, {"prefill_chunk", 256}});
      SessionFixture all({{"layout", "indirection"}, {"layers", {{{"match", "0-3"}, {"window", 24}}}}});
      const int slots = s.must("ring", {{"layer", 0}})["capacity"];
      QVERIFY2(slots > 24 && slots <= 48, QByteArray::number(slots));
      for (const SessionFixture* one : {&s, &all}) one->prompt(200), one->must("step", {{"n", 3}});
      QVERIFY2(s.sound(), layout);
      for (const CacheLayer layer : idRange<CacheLayer>(0, 4)) QVERIFY(newest(s, layer, 24) == newest(all, layer, 24));
      QCOMPARE(s.must("logits"), all.must("logits"));
    }
  }

  /// The slots that a commit wrote are those of the rows that it made and kept, wherever these are.
  void figuresOfSlots() {
    for (const char* layout : kRings) {
      SessionFixture s(windowed(layout, 24, {{"staging", 48}, {"prefill_chunk", 256}}));
      const auto committed = [&](const char* what, const auto& act) {
        const auto before = static_cast<std::int32_t>(s->state().ledger.size());
        act();
        checkFigures(s, before, std::string(layout) + ", " + what);
      };
      const auto edit = [&](json actions) { s.must("inject", {{"actions", std::move(actions)}, {"now", true}}); };
      committed("a prompt shorter than the window", [&] { s.prompt(20); });
      committed("a commit longer than the window", [&] { s.prompt(45, 6); });
      for (int tick = 0; tick < 40; ++tick) committed("a tick", [&] { s.must("step"); });
      committed("a prompt longer than the pool", [&] { s.prompt(93, 7); });
      const int end = s->state().length();
      committed("an insertion", [&] { edit({{{"action", "insert"}, {"position", end - 9}, {"token_ids", {7, 9}}}}); });
      committed("a replacement", [&] {
        edit({{{"action", "replace"}, {"positions", {end - 5}}, {"new_token_ids", {33}}}});
      });
      committed("a trim", [&] { edit(deletions(s->state().length() - 3, 3)); });
      committed("an addition behind a gap", [&] {
        edit({{{"action", "delete"}, {"position", end - 12}}, {{"action", "add"}, {"token_id", 40}}});
      });
      committed("a tick behind edits", [&] { s.must("step"); });
    }
  }

  /// The copies that make a window of ring_pointer have each row and the query's own; a rolled ring moves its rows.
  void movesCountTheirRows() {
    for (const auto& [layout, rows] : {std::pair("ring_pointer", 25), {"ring_roll", 24}}) {
      SessionFixture s(windowed(layout, 24, {{"op_events", true}}));
      s.prompt(60);
      std::int64_t bytes = 0;
      const std::int64_t two = 2 * s->store().pool(CacheLayer(0)).stride();  // a record, read and written
      for (const json& one : eventsOf(s.must("step")[0], "moveRows"))
        if (one["bytes"] > two) bytes += one["bytes"].get<std::int64_t>();  // checks bring single rows from a device
      QCOMPARE(bytes, s->model().config().layers * rows * two);
    }
  }

  /// Events of a tick say what its commit did to rings and what its pass read.
  void eventsTellOfRings() {
    for (const char* layout : kRings) {
      SessionFixture s(windowed(layout, 24, {{"layers", {{{"match", 3}, {"layout", "indirection"}}}}}));
      s.prompt(60);
      const auto tick = [&](const char* what, int shift) {
        const json report = s.must("step")[0], ring = s.must("ring", {{"layer", 0}});
        const std::string said = std::string(layout) + ", " + what + ": " + report["events"].dump();
        const std::vector<json> commits = eventsOf(report, "commit"), passes = eventsOf(report, "compute_rows");
        QVERIFY2(commits.size() == 1 && commits[0].contains("rings") && !passes.empty(), said.c_str());
        QVERIFY2(commits[0]["rings"].size() == 1, said.c_str());
        const json& told = commits[0]["rings"][0];
        for (const char* field : {"offset", "write", "pointer", "filled"})
          QVERIFY2(told[field] == ring[field], said.c_str());
        QVERIFY2(told["layer"] == 0 && told["layers"] == 3, said.c_str());
        QVERIFY2(told["length"] == s->state().length(), said.c_str());
        QVERIFY2(shift < 0 || told["shift"] == shift, said.c_str());
        QVERIFY2(commits[0]["detail"].get<std::string>().find("layer 0 and 2 more: length ") != std::string::npos,
                 said.c_str());
        const bool copies = s.must("storage", {{"layer", 0}})["readBytes"] > 0;
        QVERIFY2(passes.back().contains("reads") == copies, said.c_str());
        if (!copies || shift < 0) return;
        const json& read = passes.back()["reads"][0];
        std::vector<int> slots;
        for (const json& run : read["ranges"])
          for (int i = 0; i < run[1]; ++i) slots.push_back(run[0].get<int>() + i);
        std::vector<int> resident;
        for (const Slot slot : s->state().map(CacheLayer(0)).residentSlots()) resident.push_back(slot.value());
        resident.insert(resident.begin(), slots.front());  // the oldest row was read and then left the window
        QVERIFY2(slots == resident && read["rows"] == resident.size() && read["layers"] == 3, said.c_str());
      };
      for (int i = 0; i < 50; ++i) tick("a tick", std::string(layout) == "ring_roll" ? 1 : 0);
      const int end = s->state().length();
      s.must("inject", {{"actions", {{{"action", "delete"}, {"position", end - 5}}}}});
      tick("a deletion", -1);
    }
  }

  /// A block that is longer than the window finds its room all the same.
  void aBlockFindsRoom() {
    for (const char* layout : kRings)
      for (const auto& [window, block] : {std::pair(1, 1), {1, 4}, {2, 5}, {7, 7}, {16, 3}}) {
        SessionFixture s(windowed(layout, window, {{"ring", {{"block_tokens", block}}}}));
        const int slots = s.must("ring", {{"layer", 0}})["capacity"];
        QCOMPARE(slots % block, 0);
        QVERIFY2(slots >= window + block && slots <= std::max(2 * window, window + 2 * block - 1), layout);
        s.prompt(40);
        QCOMPARE(s.must("step", {{"n", 6}}).back()["block"].size(), static_cast<std::size_t>(block));
        QVERIFY2(s.sound(), layout);
      }
  }

  /// Whatever fills the ring, a policy that looks again finds a slot.
  void aPromptOfAnyLengthIsTaken() {
    for (const char* policy : {"snapkv:budget=4,window=5", "h2o:budget=4,window=5"})
      for (const char* layout : {"ring_fused", "ring_lut", "ring_roll"})
        for (int length = 1; length <= 40; ++length) {
          SessionFixture s(windowed(layout, 7, {{"policy", policy}}));
          s.prompt(length);
          s.must("step", {{"n", 2}});
          s.prompt(length, 9);
          QVERIFY2(s.sound(), layout);
        }
  }

  /// Rows that an edit still needs are not overwritten by those that it adds.
  void anEditThatDoesNotFitIsRefused() {
    for (const char* layout : kRings) {
      SessionFixture s(windowed(layout, 8));
      s.prompt(30);
      const std::string before = s.hash();
      json list = deletions(22, 7);
      for (int i = 0; i < 20; ++i) list.push_back({{"action", "add"}, {"token_id", 9}});
      const Result<json> refused = s.verb("inject", {{"actions", list}, {"now", true}});
      QVERIFY2(!refused && refused.error().code == "staging", layout);
      QCOMPARE(s.hash(), before);
      QVERIFY2(s.sound(), layout);
      s.must("inject", {{"actions", deletions(22, 7)}, {"now", true}});
      s.must("step", {{"n", 12}});
      QVERIFY2(s.sound(), layout);
    }
  }

  void aMapNamesTheRowsOfItsLayer() {
    for (const char* layout : kRings) {
      SessionFixture s(windowed(layout, 12));
      s.prompt(30);
      s.must("step", {{"n", 4}});
      std::vector<int> held;
      for (const json& row : s.must("rows", {{"layer", 1}})) held.push_back(row["ledger"]);
      QCOMPARE(held.size(), std::size_t(12));
      QCOMPARE(s.must("pos2ledger", {{"layer", 1}}), json(held));
      QCOMPARE(s.must("pos2ledger").size(), std::size_t(34));
      const Result<json> gone = s.verb("evict", {{"layer", 1}, {"ledger", {3}}});
      QVERIFY2(!gone && gone.error().code == "not_resident", layout);
    }
  }

  void rowsThatLeaveAreTold() {
    for (const char* layout : kRings) {
      SessionFixture s(windowed(layout, 12));
      s.prompt(12);
      QCOMPARE(s.must("ledger", {{"id", 0}})["state"], "live");
      const json report = s.must("step", {{"n", 2}}).back();
      QCOMPARE(s.must("ledger", {{"id", 1}})["state"], "left_window");
      QCOMPARE(s.must("ledger", {{"id", 1}})["changedTick"], 3);
      QCOMPARE(s.must("ledger", {{"id", 2}})["state"], "live");
      QCOMPARE(lines(s, 1, "left_window"), (std::vector<std::pair<int, int>>{{3, 0}, {3, 1}, {3, 2}, {3, 3}, {3, -1}}));
      QVERIFY(lines(s, 2, "left_window").empty());
      QCOMPARE(report["left"].size(), std::size_t(4));
      QCOMPARE(report["left"][2]["layer"], 2);
      QCOMPARE(report["left"][2]["ledger"], json({1}));
      const std::vector<json> events = eventsOf(report, "left_window");
      QCOMPARE(events.size(), std::size_t(1));
      QVERIFY2(events[0]["detail"].get<std::string>().find("1") != std::string::npos, events[0].dump().c_str());
      QVERIFY2(s.sound(), layout);
      s.must("undo");
      QCOMPARE(s.must("ledger", {{"id", 1}})["state"], "live");
      QCOMPARE(s.must("ledger", {{"id", 0}})["state"], "left_window");
      s.must("redo");
      QCOMPARE(lines(s, 1, "left_window").size(), std::size_t(5));
      // An insert that stands behind the window is in no layer at all.
      s.must("inject", {{"actions", {{{"action", "insert"}, {"position", 0}, {"token_ids", {7}}}}}, {"now", true}});
      QCOMPARE(s.must("ledger", {{"id", 14}})["state"], "left_window");
      QVERIFY2(s.sound(), layout);
    }
  }

  /// A row is live as long as some layer holds it; by eviction and by window together it may leave all of them.
  void theLastLayerDecides() {
    SessionFixture s(windowed("indirection", 6, {{"layers", {{{"match", "0-2"}, {"layout", "ring_pointer"}}}}}));
    s.prompt(20);
    QCOMPARE(s.must("ledger", {{"id", 4}})["state"], "live");
    QCOMPARE(lines(s, 4, "left_window").size(), std::size_t(3));
    s.must("evict", {{"layer", 3}, {"ledger", {4}}, {"now", true}});
    QCOMPARE(s.must("ledger", {{"id", 4}})["state"], "left_window");
    QCOMPARE(lines(s, 4, "left_layer"), (std::vector<std::pair<int, int>>{{2, 3}}));
    for (int layer = 0; layer < 4; ++layer) s.must("evict", {{"layer", layer}, {"ledger", {16}}});
    s.must("apply");
    QCOMPARE(s.must("ledger", {{"id", 16}})["state"], "evicted");
    QVERIFY(s.sound());
    const std::string before = s.hash();
    s.must("rebuild");
    QVERIFY(s.sound());
    s.must("step", {{"n", 2}});
    QVERIFY(s.sound());
    QVERIFY(before != s.hash());
  }

  /// A change of storage that brings a window is reported like a tick.
  void aNewWindowIsTold() {
    SessionFixture s(json{{"ring", {{"window", 10}}}});
    s.prompt(16);
    s.must("settings", {{"layers", json::array({{{"match", 1}, {"layout", "ring_fused"}}})}});
    QCOMPARE(lines(s, 3, "left_window"), (std::vector<std::pair<int, int>>{{1, 1}}));
    QCOMPARE(s.must("ledger", {{"id", 3}})["state"], "live");
    s.must("settings", {{"layout", "ring_fused"}});
    QCOMPARE(lines(s, 3, "left_window").size(), std::size_t(5));
    QCOMPARE(s.must("ledger", {{"id", 3}})["state"], "left_window");
    QCOMPARE(s.must("ledger", {{"id", 9}})["state"], "live");
    QVERIFY(s.sound());
  }

  void aSavedCacheKnowsWhatHasLeft() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("ring.kv").toStdString();
    SessionFixture s(windowed("ring_pointer", 12)), other(windowed("ring_pointer", 12));
    s.prompt(20);
    s.must("step", {{"n", 4}});
    s.must("saveCache", {{"path", path}});
    other.must("loadCache", {{"path", path}});
    QCOMPARE(other.hash(), s.hash());
    for (const int id : {3, 9, 15}) QCOMPARE(other.must("ledger", {{"id", id}}), s.must("ledger", {{"id", id}}));
    QCOMPARE(other.must("ledger", {{"id", 9}})["state"], "left_window");
    for (const SessionFixture* one : {&s, &other}) one->must("step", {{"n", 3}});
    QCOMPARE(other.hash(), s.hash());
    QVERIFY(other.sound());
  }

  void breakpointsSeeWhatLeaves() {
    SessionFixture s(windowed("ring_fused", 12));
    s.prompt(9);
    s.must("break", {{"condition", "evicted(ledger==5)"}});
    const json run = s.must("run", {{"maxTicks", 64}});
    QCOMPARE(run["stoppedBy"], "evicted(ledger==5)");
    QCOMPARE(s->state().length(), 18);
    s.must("clearBreaks");
    s.must("break", {{"condition", "evicted(layer==2)"}});
    s.must("inject", {{"actions", {{{"action", "evict"}, {"layer", 2}, {"ledger", {9}}}}}});
    const json reports = s.must("step", {{"n", 8}});
    QCOMPARE(reports.size(), std::size_t(1));
    QCOMPARE(reports[0]["stoppedBy"], "evicted(layer==2)");
    for (const char* bad : {"evicted(slot==2)", "evicted(layer==2,)", "replaced(layer==2)"})
      QVERIFY2(!s.verb("break", {{"condition", bad}}), bad);
  }

  void breakpointsSeeEvictionsFromOneLayer() {
    SessionFixture s;
    s.prompt(20);
    for (const auto& [condition, stops] : {std::pair("evicted(ledger==7)", true),
                                           {"evicted(layer==1, ledger==7)", true},
                                           {"evicted(layer==2, ledger==7)", false},
                                           {"evicted(layer==1)", true}}) {
      s.must("clearBreaks");
      s.must("break", {{"condition", condition}});
      s.must("evict", {{"layer", 1}, {"ledger", {7}}});
      const std::size_t ticks = s.must("step", {{"n", 3}}).size();
      QVERIFY2(ticks == (stops ? 1u : 3u), condition);
      for (std::size_t i = 0; i < ticks; ++i) s.must("undo");
    }
  }

  void stepHeedsBreakpoints() {
    SessionFixture s;
    s.prompt(10);
    s.must("break", {{"condition", "length >= 13"}});
    const json reports = s.must("step", {{"n", 9}});
    QCOMPARE(reports.size(), std::size_t(3));
    QCOMPARE(reports.back()["stoppedBy"], "length >= 13");
    QVERIFY(!reports[0].contains("stoppedBy"));
    const std::string there = s.hash();
    for (int i = 0; i < 3; ++i) s.must("undo");
    for (int i = 0; i < 3; ++i) s.must("redo");
    QCOMPARE(s.hash(), there);
  }

  /// The tables of all phases are there from the start, and rows lie as the table of the present phase has them.
  void tablesAreMadeOnce() {
    const SlotTables tables(12, 3);
    QCOMPARE(tables.phases(), 4);
    for (int phase = 0; phase < 4; ++phase)
      for (int i = 0; i < 15; ++i) QCOMPARE(tables.table(phase)[static_cast<std::size_t>(i)], (3 * phase + i) % 12);
    SessionFixture s(windowed("ring_lut", 9, {{"ring", {{"block_tokens", 3}}}}));
    const std::shared_ptr<const SlotTables> held = s->state().group(CacheLayer(0)).tables;
    QVERIFY(held);
    s.prompt(23);
    std::set<int> phases;
    for (int i = 0; i < 12; ++i) {
      s.must("step");
      const RingState ring = *s->state().group(CacheLayer(0)).ring;
      const auto rows = held->rows(ring.head, static_cast<std::size_t>(ring.filled));
      QVERIFY(std::ranges::equal(rows, plain(s->state().map(CacheLayer(0)).residentSlots())));
      QCOMPARE(s.must("ring", {{"layer", 0}})["phase"], held->phaseOf(ring.head));
      phases.insert(held->phaseOf(ring.head));
    }
    QCOMPARE(static_cast<int>(phases.size()), held->phases());
    QVERIFY(s->state().group(CacheLayer(0)).tables == held);
    QVERIFY(!SessionFixture(windowed("ring_block_roll", 9))->state().group(CacheLayer(0)).tables);
  }

  /// In a steady state nothing is listed for a read. An edit that waits is, and so is a map that lies in disorder.
  void readsTakeWhatIsHeld() {
    for (const char* layout : {"ring_lut", "ring_pointer"}) {
      SessionFixture s(windowed(layout, 9, {{"guards", false}, {"faults", true}}));
      const auto copies = [&s] { return s.must("storage", {{"layer", 1}})["counts"]["copies"]; };
      const auto took = [&](const char* what, bool lists, const std::function<void()>& act) {
        const json before = copies();
        act();
        const json now = copies();
        const std::string text = std::string(layout) + ", " + what + ": " + before.dump() + " -> " + now.dump();
        QVERIFY2(lists == (now["listed"] > before["listed"]), text.c_str());
        QVERIFY2(lists || now["held"] > before["held"], text.c_str());
      };
      const auto edit = [&s](json action) {
        s.must("inject", {{"actions", {std::move(action)}}});
        s.must("step");
      };
      s.prompt(23);
      took("ticks through all phases", false, [&] { s.must("step", {{"n", 20}}); });
      const json captures = s.must("bytes")["captures"];
      took("as many ticks again", false, [&] { s.must("step", {{"n", 20}}); });
      QCOMPARE(s.must("bytes")["captures"], captures);
      const int end = s->state().length();
      took("a replacement inside the window", true, [&] {
        edit({{"action", "replace"}, {"positions", {end - 4}}, {"new_token_ids", {33}}});
      });
      took("a tick behind it", false, [&] { s.must("step"); });
      took("a swapped map", true, [&] {
        const int last = s->state().length() - 1;
        s.must("fault", {{"kind", "map_swap"}, {"layer", 1}, {"index", last - 1}, {"other", last - 3}});
        s.must("step");
      });
    }
  }

  /// What a read takes are the table's own slots and the same places as ever.
  void heldListsAreThoseOfTheMap() {
    for (const char* layout : {"ring_lut", "ring_pointer"}) {
      SessionFixture s(windowed(layout, 9, {{"ring", {{"block_tokens", 3}}}}));
      RingReads reads;
      s.prompt(23);
      for (int tick = 0; tick < 12; ++tick) {
        s.must("step");
        const LayerGroup& group = s->state().group(CacheLayer(0));
        const ResidencyView& map = *group.map;
        const std::vector<RowTarget> target{targetAt(s->state(), s->state().length() - 1)};
        const GroupPass pass = groupPass(s->state().context, group, target, false, LeftRows::Gone);
        kernels::Staging staging(s->transformer().backend());
        Assemblies assemblies(s->transformer().backend(), staging, reads);
        const Assembled copy =
            assemblies.make(0, group, pass, s->store().pool(CacheLayer(0)).format(),
                            {.n = 1, .rows = std::ssize(map.slotOf.span()), .targets = target.data(), .guarded = true});
        const auto resident = static_cast<std::int64_t>(map.resident());
        QVERIFY(copy.held && copy.rows == resident && copy.nSeen == resident);
        if (group.tables && s->transformer().backend().onHost())
          QVERIFY(copy.from == group.tables->rows(map.slotOf[static_cast<std::size_t>(map.first)].value(), 9).data());
        kernels::Backend& backend = s->transformer().backend();
        std::vector<std::int32_t> from, places;
        if (group.tables) from = fetched(backend, copy.from, resident), places = fetched(backend, copy.to, resident);
        for (const kernels::RowMove& move : fetched(backend, copy.moves, copy.nMoves))
          for (int i = 0; i < move.count; ++i) from.push_back(move.from + i), places.push_back(move.to + i);
        const std::vector<std::int32_t> slots = fetched(backend, copy.slots + map.first, resident);
        const std::vector<std::uint64_t> tags = fetched(backend, copy.seenTags, resident);
        QCOMPARE(std::ssize(from), resident);
        for (std::size_t i = 0; i < from.size(); ++i) {
          const std::size_t row = static_cast<std::size_t>(map.first) + i;
          QVERIFY(places[i] == static_cast<int>(i) && slots[i] == static_cast<int>(i));
          QCOMPARE(from[i], map.slotOf[row].value());
          QCOMPARE(tags[i], static_cast<std::uint64_t>(map.ledger[row].value()));
        }
      }
    }
  }

  /// The first look at a column goes through all rows, and later ones through new rows alone.
  void orderIsKnownRowByRow() {
    constexpr std::int32_t kLap = 7;
    RingReads reads;
    ResidencyView map;
    for (int i = 0; i < 30; ++i) map.slotOf.push_back(Slot((i + 5) % kLap));
    QVERIFY(reads.inOrder(0, map, 20, 27, kLap));
    QVERIFY(reads.inOrder(0, map, 23, 30, kLap));
    QVERIFY(reads.inOrder(0, map, 22, 29, kLap));
    QVERIFY(!reads.inOrder(0, map, 22, 29, kLap + 1));
    QVERIFY(!reads.inOrder(0, map, 30, 30, kLap));
    QVERIFY(!reads.inOrder(0, map, 24, 31, kLap));
    ResidencyView damaged = map;  // the same length, another buffer
    std::vector<Slot> slots(map.slotOf.begin(), map.slotOf.end());
    std::swap(slots[25], slots[26]);
    damaged.slotOf.assign(slots);
    QVERIFY(reads.inOrder(0, map, 23, 30, kLap));
    QVERIFY(!reads.inOrder(0, damaged, 23, 30, kLap));
    QVERIFY(reads.inOrder(0, damaged, 27, 30, kLap));
    QVERIFY(reads.inOrder(0, map, 23, 30, kLap));
    ResidencyView shorter = map;  // an undo, and another row behind it
    shorter.slotOf = map.slotOf.prefix(28);
    shorter.slotOf.push_back(Slot(0));
    QVERIFY(!reads.inOrder(0, shorter, 23, 29, kLap));
    QVERIFY(reads.inOrder(0, shorter, 23, 28, kLap));
    map.slotOf.push_back(Slot(0));  // 30 + 5 = 5 laps
    QVERIFY(reads.inOrder(0, map, 24, 31, kLap));
    map.slotOf.push_back(Slot(4));
    QVERIFY(!reads.inOrder(0, map, 25, 32, kLap));
  }

  /// Whole blocks in the order of the slots, rolled so that the oldest row's comes first.
  void blocksRollWhole() {
    constexpr int kBlock = 3;
    SessionFixture s(windowed("ring_block_roll", 9, {{"ring", {{"block_tokens", kBlock}}}}));
    s.prompt(23);
    for (int tick = 0; tick < 9; ++tick) {
      s.must("step");
      const CacheState& state = s->state();
      const ResidencyView& map = state.map(CacheLayer(0));
      const std::vector<RowTarget> target{targetAt(state, state.length() - 1)};
      const GroupPass pass = groupPass(state.context, state.group(CacheLayer(0)), target, false, LeftRows::Gone);
      kernels::Staging staging(s->transformer().backend());
      RingReads reads;
      Assemblies assemblies(s->transformer().backend(), staging, reads);
      const Assembled copy =
          assemblies.make(0, state.group(CacheLayer(0)), pass, s->store().pool(CacheLayer(0)).format(),
                          {.n = 1, .rows = std::ssize(map.slotOf.span()), .targets = target.data()});
      QCOMPARE(copy.rows % kBlock, 0);
      std::map<int, int> slotAt;
      for (std::int64_t i = 0; i < copy.rows; ++i) {
        QVERIFY(i == 0 || copy.from[i] > copy.from[i - 1]);
        QCOMPARE(copy.from[i] % kBlock, copy.to[i] % kBlock);
        if (i % kBlock) QCOMPARE(copy.to[i], copy.to[i - 1] + 1);
        slotAt[copy.to[i]] = copy.from[i];
      }
      for (std::size_t i = static_cast<std::size_t>(map.first); i < map.size(); ++i)
        QCOMPARE(slotAt.at(copy.slots[i]), map.slotOf[i].value());
    }
  }

  void conversionsAreEvents() {
    const auto named = [](const char* layout, const char* v, const char* name) {
      SessionFixture s(windowed(layout, 12, {{"op_events", true}, {"kv", {{"k", "f16"}, {"v", v}}}}));
      s.prompt(20);
      return eventsOf(s.must("step")[0], name);
    };
    const std::vector<json> quantised = named("ring_fused", "int8", "quantise");
    QCOMPARE(quantised.size(), std::size_t(4));
    for (std::size_t layer = 0; layer < 4; ++layer) {
      QCOMPARE(quantised[layer]["layer"], static_cast<int>(layer));
      QVERIFY(quantised[layer]["us"].get<double>() > 0 && quantised[layer]["bytes"].get<int>() > 0);
    }
    QCOMPARE(named("ring_lut", "int8", "dequantise").size(), std::size_t(4));
    QCOMPARE(named("ring_block_roll", "fp8-e4m3", "dequantise").size(), std::size_t(4));
    QVERIFY(named("ring_fused", "int8", "dequantise").empty());  // attention reads the codes themselves
    QVERIFY(named("ring_fused", "f16", "quantise").empty());
    QVERIFY(named("ring_lut", "f16", "dequantise").empty());
  }
};

KV_TEST(RingsTest)
#include "rings_test.moc"
