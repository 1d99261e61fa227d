// SPDX-License-Identifier: Apache-2.0
// The story of a row tells each write of its stored bytes once, and the present place of the row; the cause of a row
// that differs from a rebuild is the edit that was planted. Compared with the bytes in the pools after every commit.
#include <map>
#include <set>

#include "core/session/row_story.h"
#include "kernels/row_checksum.h"
#include "support/commits.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

struct Cell {
  Slot slot;
  double phase = 0;
  std::string bytes;
  bool operator==(const Cell&) const = default;
};
using Cells = std::map<LedgerId, Cell>;

/// The rows that a layer holds, read from its pool.
Cells cellsOf(const Session& session, CacheLayer layer) {
  const RowPool& pool = session.store().pool(layer);
  const ResidencyView& map = session.state().group(layer).stored();
  const auto tag = static_cast<std::size_t>(kernels::rowLayout(pool.format()).tag);
  std::vector<std::uint8_t> record(static_cast<std::size_t>(pool.stride()));
  Cells out;
  for (auto i = static_cast<std::size_t>(map.first); i < map.size(); ++i) {
    pool.readRecords({&map.slotOf[i], 1}, record.data());
    out[map.ledger[i]] = {map.slotOf[i], map.phase(i).value(),
                          std::string(record.begin(), record.begin() + static_cast<std::ptrdiff_t>(tag))};
  }
  return out;
}

/// A session that notes at which entries the bytes or the slot of a row changed, by looking at the pools.
struct Watched {
  SessionFixture s;
  std::vector<Cells> now;                                  // [layers]
  std::vector<std::map<LedgerId, std::set<int>>> written;  // [layers] entries
  std::set<int> seen;
  std::int64_t slots = 0;
  int grown = -1;  // entry at which the pools changed their size last

  explicit Watched(const json& manifest) : s(manifest) {
    now.resize(s->store().layers().size());
    written.resize(now.size());
    s->setPublish([this](const SnapshotPtr&) { look(); });
    look();
  }
  void look() {
    const int entry = s->timeline().currentId();
    if (s->history().replaying() || !seen.insert(entry).second) return;
    std::int64_t all = 0;
    for (const CacheLayer layer : s->store().layers()) {
      const auto l = static_cast<std::size_t>(layer.value());
      all += s->store().pool(layer).slots();
      Cells cells = cellsOf(*s, layer);
      for (const auto& [row, cell] : cells) {
        const auto before = now[l].find(row);
        if (before == now[l].end() || before->second.slot != cell.slot || before->second.bytes != cell.bytes)
          written[l][row].insert(entry);
      }
      now[l] = std::move(cells);
    }
    if (std::exchange(slots, all) != all) grown = entry;
  }
};

}  // namespace

class RowStoryTest : public QObject {
  Q_OBJECT
 private:
  int m_writes = 0, m_again = 0, m_causes = 0, m_handedDown = 0;

  static void checksumIsThatOfTheBytes(SessionFixture& s, CacheLayer layer, LedgerId row, Slot slot) {
    json args{{"ledger", row.value()}, {"layer", s->cacheLayers().layerOf(layer).value()}};
    if (const auto head = s->cacheLayers().headOf(layer)) args["kvHead"] = head->value();
    std::string checksum;
    for (const json& one : s.must("story", args))
      if (!one["checksum"].is_null()) checksum = one["checksum"];
    const RowPool& pool = s->store().pool(layer);
    std::vector<std::uint8_t> record(static_cast<std::size_t>(pool.stride()));
    pool.readRecords({&slot, 1}, record.data());
    const std::uint64_t sum = kernels::rowChecksum(record.data(), kernels::rowLayout(pool.format()).tag);
    QCOMPARE(QString::fromStdString(checksum), QString("%1").arg(sum, 16, 16, QChar('0')));
  }

  void tellsAll(Watched& w, CacheLayer layer, LedgerId row) {
    SessionFixture& s = w.s;
    const auto l = static_cast<std::size_t>(layer.value());
    const Result<std::vector<RowChapter>> told = rowStory(*s, layer, row);
    QVERIFY2(told, told ? "" : told.error().text().c_str());
    std::multiset<int> writes;
    for (const RowChapter& one : *told)
      if (one.wrote) writes.insert(one.entry);
    for (const int entry : writes) QCOMPARE(writes.count(entry), std::size_t{1});
    for (const int entry : w.written[l][row]) {
      if (entry <= w.grown) continue;  // executed again in larger pools, rows may lie elsewhere
      ++m_writes;
      QVERIFY2(writes.contains(entry),
               qPrintable(QString("row %1 was written at entry %2, verb %3, and the story does not say so")
                              .arg(row.value())
                              .arg(entry)
                              .arg(s->timeline().entry(entry).verb.c_str())));
    }
    for (const int entry : writes) m_again += !w.written[l][row].contains(entry);
    const auto held = w.now[l].find(row);
    const bool gone = told->empty() || told->back().slot.value() < 0;
    QCOMPARE(gone, held == w.now[l].end());
    if (gone) return;
    QCOMPARE(told->back().slot, held->second.slot);
    QCOMPARE(told->back().phase, held->second.phase);
    checksumIsThatOfTheBytes(s, layer, row, held->second.slot);
    const auto& context = s->state().context;
    const auto place = std::find(context.begin(), context.end(), row) - context.begin();
    if (place < std::ssize(context))
      QCOMPARE(told->back().exactness, exactnessMap(*s).layers[l][static_cast<std::size_t>(place)]);
    if (const auto& shown = s->snapshot()->exactness) QVERIFY(*shown == exactnessMap(*s).layers.back());
  }

 private Q_SLOTS:
  void everyWriteStandsThereOnce_data() {
    QTest::addColumn<int>("manifest");
    for (int i = 0; i < static_cast<int>(historyManifests().size()); ++i)
      QTest::addRow("%s", historyManifests()[static_cast<std::size_t>(i)].dump().c_str()) << i;
  }
  void everyWriteStandsThereOnce() {
    QFETCH(int, manifest);
    const int sessions = std::max(4, qEnvironmentVariableIntValue("KVLAB_STORY_SESSIONS"));
    for (int n = 0; n < sessions && !QTest::currentTestFailed(); ++n) {
      const auto seed = static_cast<unsigned>(100 * manifest + 48 + n);
      std::mt19937 random(seed);
      Watched w(historyManifests()[static_cast<std::size_t>(manifest)]);
      w.s->history().anchorEvery(24);
      w.s.prompt(12, seed);
      for (int i = 0; i < 24; ++i) randomCommit(w.s, random);
      if (n % 2) w.s->history().forgetOlder(w.s->parts(), true);
      for (int i = 0; i < 16 && !QTest::currentTestFailed(); ++i)
        tellsAll(w, CacheLayer(static_cast<std::int32_t>(random() % w.now.size())),
                 LedgerId(static_cast<std::int32_t>(random() % w.s->state().ledger.size())));
      if (QTest::currentTestFailed()) qWarning("seed %u", seed);
    }
  }

  /// One edit in the middle of plain ticks makes all rows inexact that are; an eviction of the newest row makes none.
  void theCauseIsThePlantedEdit() {
    const int sessions = std::max(40, qEnvironmentVariableIntValue("KVLAB_STORY_SESSIONS"));
    for (int n = 0; n < sessions && !QTest::currentTestFailed(); ++n) {
      std::mt19937 random(static_cast<unsigned>(n));
      const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
      SessionFixture s(historyManifests()[static_cast<std::size_t>(n % 3)]);
      s->history().anchorEvery(24);
      s.prompt(8 + pick(12), static_cast<unsigned>(n));
      s.must("step", {{"n", 1 + pick(8)}});
      const int length = s->state().length(), before = s->timeline().currentId();
      const std::vector<json> edits = {
          {{"action", "replace"}, {"positions", {pick(length - 1)}}, {"new_token_ids", {3 + pick(250)}}},
          {{"action", "delete"}, {"position", pick(length - 1)}},
          {{"action", "insert"}, {"position", pick(length - 1)}, {"token_ids", {3 + pick(250)}}}};
      if (pick(4) == 0) {
        const std::int32_t layer = pick(s->cacheLayers().layers);
        s.must("evict", {{"layer", layer}, {"ledger", {pick(length - 1)}}, {"now", true}});
      } else {
        s.must("inject", {{"actions", {edits[static_cast<std::size_t>(pick(3))]}}, {"now", true}});
      }
      const int edit = s->timeline().currentId();
      QVERIFY(edit > before);
      for (int i = 1 + pick(3); i > 0; --i) s.must("step", {{"n", 1 + pick(4)}});
      evictNewest(s, pick(s->cacheLayers().layers));
      for (int i = 1 + pick(3); i > 0; --i) s.must("step", {{"n", 1 + pick(4)}});
      if (n % 2) s->history().forgetOlder(s->parts(), true);
      for (const CacheLayer layer : s->state().layers())
        for (const LedgerId row : s->state().context) checkCause(s, layer, row, before, edit);
      if (QTest::currentTestFailed()) qWarning("session %d", n);
    }
  }
  /// A row that lost its place to another one says so, with both scores.
  void evictionsNameTheContest() {
    int contests = 0;
    for (const char* policy : {"h2o:ratio=0.5,window=4", "tova:capacity=12", "streaming_llm:sinks=2,capacity=14"}) {
      SessionFixture s(json{{"policy", policy}});
      s.prompt(20);
      for (int i = 0; i < 8; ++i) {
        s.must("step");
        for (const CacheLayer layer : s->state().layers())
          for (const Contest& one : s->state().policy->audit.layers[static_cast<std::size_t>(layer.value())].contests) {
            const Result<std::vector<RowChapter>> told = rowStory(*s, layer, one.loser);
            QVERIFY(told);
            QVERIFY(!told->empty() && told->back().event == RowEvent::Left);
            const std::string& detail = told->back().detail;
            QVERIFY2(detail.starts_with("evicted by ") && detail.find(" score ") != std::string::npos,
                     (detail + " " + policy + " tick " + std::to_string(s->state().tick.value())).c_str());
            const std::string row = "; row " + std::to_string(one.challenger.value()) + " ";
            QCOMPARE(detail.find(row) != std::string::npos, one.challenger != one.loser);
            ++contests;
          }
      }
    }
    QVERIFY2(contests > 20, qPrintable(QString::number(contests)));
  }
  void cleanupTestCase() {
    QVERIFY(m_writes > 400);
    QVERIFY2(m_again < m_writes, qPrintable(QString("%1 of %2").arg(m_again).arg(m_writes)));
    QVERIFY(m_causes > 200);
    QVERIFY(m_handedDown > 20);
    qInfo("%d writes, %d more without other bytes; %d causes, %d handed down", m_writes, m_again, m_causes,
          m_handedDown);
  }

 private:
  /// Changes the map, but nothing that a row was computed from.
  static void evictNewest(SessionFixture& s, int layer) {
    const ResidencyView& map = s->state().map(CacheLayer(layer));
    s.must("evict", {{"layer", layer}, {"ledger", {map.ledger[map.size() - 1].value()}}, {"now", true}});
  }
  void checkCause(SessionFixture& s, CacheLayer layer, LedgerId row, int before, int edit) {
    const auto& context = s->state().context;
    const auto place = static_cast<std::size_t>(std::find(context.begin(), context.end(), row) - context.begin());
    const bool exact = exactnessMap(*s).layers[static_cast<std::size_t>(layer.value())][place] == Exactness::Exact;
    const Result<RowCause> why = whyInexact(*s, layer, row);
    QVERIFY2(why, why ? "" : why.error().text().c_str());
    if (exact) {
      QCOMPARE(why->entry, -1);
      return;
    }
    ++m_causes;
    m_handedDown += why->rows.size() > 1;
    QVERIFY(why->first != Exactness::Exact && why->first != Exactness::Inherited);
    QVERIFY2(why->entry > before && why->entry <= edit,
             qPrintable(QString("row %1 of layer %2: entry %3 instead of %4, row %5 %6")
                            .arg(row.value())
                            .arg(layer.value())
                            .arg(why->entry)
                            .arg(edit)
                            .arg(why->rows.back().value())
                            .arg(name(why->first).data())));
  }
};

KV_TEST(RowStoryTest)
#include "row_story_test.moc"
