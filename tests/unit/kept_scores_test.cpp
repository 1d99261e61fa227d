// SPDX-License-Identifier: Apache-2.0
// Scores stay with the rows that are as they were, and with no others.
#include "core/policy/kept_scores.h"

#include <QtTest>
#include <random>

#include "support/runner.h"

using namespace kvlab;

namespace {

struct MapRow {
  std::int32_t id, slot, phase;
};

std::shared_ptr<const ResidencyView> mapOf(const std::vector<MapRow>& rows, std::int32_t first) {
  auto out = std::make_shared<ResidencyView>();
  for (const MapRow& row : rows) {
    out->ledger.push_back(LedgerId(row.id));
    out->slotOf.push_back(Slot(row.slot));
    out->phases.push_back(row.phase);
  }
  out->first = first;
  return out;
}

}  // namespace

class KeptScoresTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void unchangedRowsKeepThem() {
    std::mt19937 random(5);
    const auto one = [&](unsigned in) { return random() % in == 0; };
    for (int n = 0; n < 300; ++n) {
      std::vector<MapRow> then, now;
      const auto rows = static_cast<std::int32_t>(random() % 400);
      for (std::int32_t i = 0; i < rows; ++i)
        if (!one(5)) then.push_back({i, i, i});
      std::vector<std::int32_t> writers(static_cast<std::size_t>(rows), 1);
      Column<std::int32_t> column(writers);
      const Column<std::int32_t> before = column.prefix(column.size() - std::min<std::size_t>(column.size(), n % 3));
      for (MapRow row : then) {
        if (one(9)) continue;
        if (one(9)) row.slot += 1000;
        if (one(9)) row.phase += 1000;
        now.push_back(row);
      }
      for (std::int32_t i = 0; i < 3; ++i) {
        column.push_back(2);
        now.push_back({rows + i, rows + i, rows + i});
      }
      LayerGroup group;
      const auto wasFirst = static_cast<std::int32_t>(random() % 3), first = static_cast<std::int32_t>(random() % 3);
      group.map = mapOf(now, first);
      group.writers = column;
      RowValues scores{mapOf(then, std::min(wasFirst, static_cast<std::int32_t>(then.size()))), {}};
      for (const MapRow& row : then) scores.values.push_back(0.5f + static_cast<float>(row.id));
      std::vector<float> out(group.map->resident());
      const std::vector<std::size_t> unknown = takeScores(scores, before, group, out);
      std::vector<std::size_t> wanted;
      for (std::size_t i = at(first); i < now.size(); ++i) {
        const auto old = std::ranges::find(then, now[i].id, &MapRow::id);
        const bool stays = !before.empty() && old != then.end() && scores.map->has(at(old - then.begin())) &&
            old->slot == now[i].slot && old->phase == now[i].phase && at(now[i].id) < before.size();
        if (!stays) wanted.push_back(i);
        else QCOMPARE(out[i - at(first)], 0.5f + static_cast<float>(now[i].id));
      }
      QCOMPARE(unknown, wanted);
    }
  }

  void aRowThatWasWrittenAgainTakesAllAway() {
    const std::vector<MapRow> rows{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}};
    LayerGroup group;
    group.map = mapOf(rows, 0);
    group.writers = Column<std::int32_t>(std::vector<std::int32_t>{1, 7, 1});
    const RowValues scores = RowValues::of(group.map, std::vector<float>{1, 2, 3});
    const std::vector<std::size_t> all{0, 1, 2};
    std::vector<float> out(3);
    QCOMPARE(takeScores(scores, Column<std::int32_t>(std::vector<std::int32_t>{1, 1, 1}), group, out), all);
    QCOMPARE(takeScores(scores, {}, group, out), all);
    QCOMPARE(takeScores({}, group.writers, group, out), all);
    QVERIFY(takeScores(scores, group.writers, group, out).empty());
    QCOMPARE(out, (std::vector<float>{1, 2, 3}));
    const ResidencyView some = partOf(*group.map, {0, 2});
    QVERIFY(some.size() == 2 && some.ledger[1] == LedgerId(2) && some.slotOf[1] == Slot(2) && some.phases[1] == 2);
  }
};

KV_TEST(KeptScoresTest)
#include "kept_scores_test.moc"
