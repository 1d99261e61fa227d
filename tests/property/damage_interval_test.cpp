// SPDX-License-Identifier: Apache-2.0
// Damage lies between the ticks that a finding names: random scripts in which stored bytes are damaged behind the
// engine's back, or by the fault drill, at a known tick. The test keeps its own account of which rows which check read.
#include <map>

#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

struct Damaged {
  CacheLayer layer;
  LedgerId row;
  std::int64_t tick = 0, travels = 0;
};

class DamageScript {
 public:
  DamageScript(const json& manifest, unsigned seed, int travels)
      : m_random(seed), m_session(manifest), m_period(m_session->manifest().scrubPeriod), m_travels(travels) {
    m_session.prompt(12 + pick(20), seed);
    account();
  }

  /// Steps and edits, then damage, then steps and edits until it is found; false if a finding is wrong.
  bool play() {
    for (int i = pick(12); i > 0; --i) change();
    if (!damage()) return true;
    for (int i = 0; i < 3 * m_period + 4 && !m_found; ++i) {
      change();
      if (!judge()) return false;
    }
    return true;
  }

  bool found() const { return m_found; }
  QByteArray said;

 private:
  int pick(int below) { return static_cast<int>(m_random() % static_cast<unsigned>(below)); }
  std::int64_t tick() const { return m_session->state().tick.value(); }
  bool full() const { return m_session->manifest().check == CheckLevel::Full; }

  /// Runs one verb that makes one commit or moves in history; then notes the rows that the check behind it has read.
  void change() {
    const int kind = pick(10);
    const int length = m_session->state().length();
    if (kind == 0 && length > 4) (void)m_session.verb("pin", {{"ledger", someRow().value()}, {"on", pick(2) == 1}});
    else if (kind == 1 && length > 8)
      (void)m_session.verb("evict", {{"ledger", {someRow().value()}}, {"layer", pick(2)}, {"now", true}});
    else if (kind == 2 && length > 8)
      (void)m_session.verb("inject",
                           {{"actions", {{{"action", "delete"}, {"position", pick(length)}}}}, {"now", true}});
    else if (kind < 5 && m_travels > 0) travel();
    else m_session.must("step");
    account();
  }

  void travel() {
    if (m_damaged) ++m_damaged->travels;
    (void)m_session.verb(pick(3) ? "undo" : "redo", {{"n", 1 + pick(4)}});
  }

  LedgerId someRow() {
    const CacheState& state = m_session->state();
    return state.context[at(pick(state.length()))];
  }

  /// The slice that the newest check has read, by the number of checks.
  void account() {
    const std::int64_t checks = m_session->health().checks;
    if (m_damaged) return;
    for (std::int64_t check = m_checks; check < checks; ++check)
      for (std::int64_t slice = 0; slice < m_period; ++slice)
        if (full() || slice == check % m_period) m_read[slice] = tick();
    m_checks = checks;
  }

  /// Flips a low bit of a stored key.
  bool damage() {
    const CacheLayer layer(pick(m_session->store().layers().size() > 1 ? 2 : 1));
    const ResidencyView& map = m_session->state().map(layer);
    if (map.resident() == 0) return false;
    const std::size_t index = at(map.first) + at(pick(static_cast<int>(map.resident())));
    m_damaged = Damaged{layer, map.ledger[index], tick()};
    if (pick(2)) {
      m_session.must("fault", {{"kind", "value_bit"}, {"layer", layer.value()}, {"index", index}, {"bit", 0}});
      return true;
    }
    RowPool& pool = m_session->parts().store.pool(layer);
    const std::span<const Slot> slot(&map.slotOf[index], 1);
    std::vector<std::uint8_t> record(at(pool.stride()));
    pool.readRecords(slot, record.data());
    record[0] ^= 1;
    pool.writeRecords(slot, record.data());
    return true;
  }

  bool judge() {
    const SnapshotPtr seen = m_session->snapshot();
    for (const Finding& one : seen->alignment.findings) {
      const DamageSince& since = one.since();
      m_found = true;
      const auto from = since.verified ? since.verified : since.computed;
      const std::int64_t to = std::max(since.found, since.reached.value_or(since.found)).value();
      const QByteArray what = QByteArray::fromStdString(one.violation.invariant + " " + intervalText(since));
      if (!from || from->value() > m_damaged->tick || m_damaged->tick > to)
        return fail(what + " lacks tick " + QByteArray::number(qint64(m_damaged->tick)));
      if (m_damaged->travels > 0 || m_travels > 0) continue;  // the account does not follow the ways of history
      if (one.violation.invariant == "exact_rows" && !full()) continue;  // it draws rows instead of reading slices
      const LedgerRow& row = seen->ledger[m_damaged->row];
      const auto read = m_read.find(m_damaged->row.value() % m_period);
      const std::int64_t last = read == m_read.end() ? -1 : read->second;
      const std::int64_t wanted = std::max(last, row.born.value());
      if (from->value() != wanted || since.verified.has_value() != (last >= row.born.value()))
        return fail(what + ", the last check read the row at tick " + QByteArray::number(qint64(last)));
      if (full() && since.found.value() - from->value() > 1) return fail(what + " is wider than a tick");
    }
    return true;
  }

  bool fail(const QByteArray& what) {
    said = what;
    return false;
  }

  std::mt19937 m_random;
  SessionFixture m_session;
  const std::int64_t m_period;
  const int m_travels;
  std::map<std::int64_t, std::int64_t> m_read;  // slice: tick of the last check that read it before the damage
  std::int64_t m_checks = 0;
  std::optional<Damaged> m_damaged;
  bool m_found = false;
};

}  // namespace

class DamageIntervalTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void damageLiesBetweenTheTicks_data() {
    QTest::addColumn<QByteArray>("manifest");
    QTest::addColumn<int>("travels");
    const json checks[] = {{{"level", "full"}}, {{"scrub_period", 3}}, {{"scrub_period", 16}}};
    for (const char* layout : {"indirection", "contiguous_splice", "paged"})
      for (const json& check : checks)
        for (const int travels : {0, 1}) {
          const json manifest{{"faults", true}, {"layout", layout}, {"check", check}};
          QTest::addRow("%s %s %s", layout, check.dump().c_str(), travels ? "with undo" : "forward")
              << QByteArray::fromStdString(manifest.dump()) << travels;
        }
  }
  void damageLiesBetweenTheTicks() {
    QFETCH(QByteArray, manifest);
    QFETCH(int, travels);
    int found = 0;
    for (unsigned seed = 1; seed <= 40; ++seed) {
      DamageScript script(json::parse(manifest.toStdString()), seed, travels);
      QVERIFY2(script.play(), "seed " + QByteArray::number(seed) + ": " + script.said);
      found += script.found();
    }
    QVERIFY2(found >= 15, QByteArray::number(found) + " of 40 were found");
  }
};

KV_TEST(DamageIntervalTest)
#include "damage_interval_test.moc"
