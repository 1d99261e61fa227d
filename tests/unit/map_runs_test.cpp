// SPDX-License-Identifier: Apache-2.0
// Runs of rows that two residency maps have in common, against a walk that compares each row with each.
#include "core/state/map_runs.h"

#include <QtTest>
#include <random>

#include "support/runner.h"

using namespace kvlab;

namespace {

using Ids = std::vector<LedgerId>;

/// Rows of `old` without some, and some new ones anywhere.
Ids edited(const Ids& old, int& next, std::mt19937& random) {
  Ids out;
  const auto one = [&](unsigned in) { return random() % in == 0; };
  for (const LedgerId id : old) {
    while (one(9)) out.emplace_back(next++);
    if (!one(7)) out.push_back(id);
  }
  while (one(3)) out.emplace_back(next++);
  return out;
}

}  // namespace

class MapRunsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void allThatStaysIsInRuns() {
    std::mt19937 random(3);
    for (int n = 0; n < 400; ++n) {
      int next = 0;
      Ids old(random() % 700);
      for (LedgerId& id : old) id = LedgerId(next++);
      old = edited(old, next, random);  // ids that do not ascend
      const Ids now = n % 5 ? edited(old, next, random) : old;
      std::vector<int> from(now.size(), -1);
      std::size_t runs = 0, lastOld = 0, lastNow = 0;
      forCommonRuns(old, now, [&](std::size_t was, std::size_t is, std::size_t rows) {
        QVERIFY(rows > 0 && was >= lastOld && is >= lastNow);
        for (std::size_t i = 0; i < rows; ++i) from[is + i] = static_cast<int>(was + i);
        lastOld = was + rows, lastNow = is + rows;
        ++runs;
      });
      for (std::size_t i = 0; i < now.size(); ++i) {
        const auto found = std::ranges::find(old, now[i]);
        QCOMPARE(from[i], found == old.end() ? -1 : static_cast<int>(found - old.begin()));
      }
      if (n % 5 == 0) QCOMPARE(runs, std::size_t{old.empty() ? 0u : 1u});
    }
  }

  void rowsThatCameBackAreInNoRun() {
    const Ids old{LedgerId(0), LedgerId(3), LedgerId(4)}, now{LedgerId(0), LedgerId(2), LedgerId(4), LedgerId(3)};
    std::vector<std::size_t> seen;
    forCommonRuns(old, now, [&](std::size_t was, std::size_t is, std::size_t rows) {
      seen.insert(seen.end(), {was, is, rows});
    });
    QCOMPARE(seen, (std::vector<std::size_t>{0, 0, 1, 2, 2, 1}));
  }

  void fronts() {
    std::mt19937 random(4);
    for (int n = 0; n < 300; ++n) {
      std::vector<int> a(random() % 600), b;
      for (int& one : a) one = static_cast<int>(random() % 3);
      b = a;
      b.resize(random() % 600);
      if (!b.empty() && n % 2) b[random() % b.size()] = 7;
      const auto end = std::ranges::mismatch(a, b).in1;
      QCOMPARE(alikeInFront<int>(a, b), static_cast<std::size_t>(end - a.begin()));
    }
  }
};

KV_TEST(MapRunsTest)
#include "map_runs_test.moc"
