// SPDX-License-Identifier: Apache-2.0
// Ledgers that share rows: no ledger sees the changes and additions of another one.
#include <random>

#include "core/state/ledger.h"
#include "support/runner.h"

using namespace kvlab;

class LedgerTest : public QObject {
  Q_OBJECT
 private:
  /// A ledger beside the list that it should equal.
  struct Pair {
    Ledger ledger;
    std::vector<std::int32_t> tokens;

    void append(std::int32_t token) {
      LedgerRow row;
      row.token = TokenId(token);
      ledger.append(row);
      tokens.push_back(token);
    }
    void change(std::int32_t row, std::int32_t token) {
      ledger.change(LedgerId(row)).token = TokenId(token);
      tokens[static_cast<std::size_t>(row)] = token;
    }
    bool equal() const {
      if (ledger.size() != tokens.size()) return false;
      for (std::size_t i = 0; i < tokens.size(); ++i)
        if (ledger[LedgerId(static_cast<std::int32_t>(i))].token.value() != tokens[i]) return false;
      return true;
    }
  };

 private Q_SLOTS:
  /// Copies of copies, as branches of a history are.
  void copiesKeepTheirRows() {
    std::mt19937 random(11);
    const auto pick = [&](std::size_t below) { return static_cast<std::int32_t>(random() % below); };
    std::vector<Pair> all(1);
    for (int step = 0; step < 4000; ++step) {
      Pair& one = all[static_cast<std::size_t>(pick(all.size()))];
      const std::int32_t what = pick(10);
      if (what < 5)
        for (std::int32_t n = pick(400); n >= 0; --n) one.append(step);
      else if (what < 8 && !one.tokens.empty()) one.change(pick(one.tokens.size()), -step);
      else if (what == 8 && all.size() < 12) all.push_back(Pair(one));
      else if (all.size() > 4) all.erase(all.begin());
    }
    std::size_t longest = 0;
    for (const Pair& one : all) {
      QVERIFY(one.equal());
      longest = std::max(longest, one.tokens.size());
    }
    QVERIFY(longest > 3 * 2048);
    Pair own{all.back().ledger.ownCopy(), all.back().tokens};
    own.change(0, 7);
    own.append(8);
    QVERIFY(own.equal() && all.back().equal());
  }

  void pinsAreCounted() {
    Ledger first;
    for (int i = 0; i < 70; ++i) {
      LedgerRow row;
      row.pinned = i % 35 == 0;
      first.append(row);
    }
    QCOMPARE(first.pins(), 2);
    Ledger next = first;
    next.pin(LedgerId(3), true);
    next.pin(LedgerId(3), true);
    next.pin(LedgerId(35), false);
    next.pin(LedgerId(36), false);
    QCOMPARE(next.pins(), 2);
    next.pin(LedgerId(0), false);
    QCOMPARE(next.ownCopy().pins(), 1);
    QVERIFY(next[LedgerId(3)].pinned && !next[LedgerId(0)].pinned && first[LedgerId(0)].pinned);
    QCOMPARE(first.pins(), 2);
  }

  /// A copy of 100 000 rows in which two rows change and one comes costs a few kilobytes.
  void aChangeCostsLittle() {
    Ledger first;
    for (int i = 0; i < 100'000; ++i) first.append({});
    Ledger next = first;
    QVERIFY(next.bytesBeside(first) < 2048);  // the list of blocks
    next.pin(LedgerId(99'990), true);
    next.pin(LedgerId(31'000), true);
    next.append({});
    QVERIFY2(next.bytesBeside(first) < 12'000, qPrintable(QString::number(next.bytesBeside(first))));
    QVERIFY(next.bytesBeside({}) > 100'000 * static_cast<std::int64_t>(sizeof(LedgerRow)));
    QVERIFY(!first[LedgerId(31'000)].pinned);
  }
};

KV_TEST(LedgerTest)
#include "ledger_test.moc"
