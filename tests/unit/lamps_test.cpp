// SPDX-License-Identifier: Apache-2.0
// No lamp lies: once a check has named damage, its lamp is red behind every tick, edit and travel as long as the damage
// is there, for every fault of the drill and every bug of the clinic. The test tells by the bytes of the rows and by a
// full check of its own whether it is.
#include <QTemporaryDir>
#include <random>
#include <set>

#include "core/bugs/bug_kind.h"
#include "core/check/fault_drill.h"
#include "core/clinic/clinic_run.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

/// Checks that say of a row that it is not what it should be. Others say it of the state, of a decision or of logits.
const std::set<std::string> kOfRows = {"row_tags",     "row_checksums", "scale_law", "finite_rows",
                                       "visible_rows", "edit_passes",   "exact_rows"};

/// A row in a layer and those behind it, as a check has found it.
struct Damaged {
  std::string invariant;
  CacheLayer layer;
  LedgerId row;
  auto operator<=>(const Damaged&) const = default;
};

/// The stored bytes of a row from a layer on; empty where that layer has no such row.
std::string bytesOf(const Session& session, const Damaged& one) {
  std::string out;
  const CacheState& state = session.state();
  for (std::size_t layer = at(one.layer); layer < state.groupOf.size(); ++layer) {
    const CacheLayer cache(static_cast<std::int32_t>(layer));
    const ResidencyView& map = state.group(cache).stored();
    const RowPool& pool = session.store().pool(cache);
    std::vector<std::uint8_t> record(at(pool.stride()));
    for (std::size_t i = at(map.first); i < std::min(map.ledger.size(), map.slotOf.size()); ++i) {
      if (map.ledger[i] != one.row || map.slotOf[i].value() < 0 || map.slotOf[i].value() >= pool.slots()) continue;
      pool.readRecords(std::span(&map.slotOf[i], 1), record.data());
      out.append(record.begin(), record.end());
    }
    if (out.empty()) return out;
  }
  return out;
}

std::set<std::string> red(const Session& session) {
  std::set<std::string> out;
  for (const InvariantState& line : session.health().alignment.lines())
    if (!line.ok) out.emplace(line.id);
  return out;
}

/// The invariants that a full check names now; those about passes look at none.
std::set<std::string> brokenNow(const Session& session) {
  CheckInput input{session.state(), session.store(), session.manifest(), session.parts().capacity};
  input.full = true;
  std::set<std::string> out;
  for (const Violation& one : checkAll(input)) out.insert(one.invariant);
  return out;
}

class Watched {
 public:
  /// Notes what is known to be damaged; what is wrong if a lamp has gone green.
  std::string look(const Session& session) {
    const std::set<std::string> lamps = red(session), broken = brokenNow(session);
    for (const auto& [one, bytes] : m_rows)
      if (!lamps.contains(one.invariant) && bytesOf(session, one) == bytes)
        return one.invariant + " is green, and row " + std::to_string(one.row.value()) + " of layer " +
            std::to_string(one.layer.value()) + " is as it was found";
    for (const std::string& lamp : m_lit)
      if (broken.contains(lamp) && !lamps.contains(lamp)) return lamp + " is green, and a full check names it";
    m_lit.insert(lamps.begin(), lamps.end());
    for (const Finding& finding : session.health().alignment.findings()) {
      const Violation& v = finding.violation;
      if (!kOfRows.contains(v.invariant) || !v.layer || !v.ledger) continue;
      const Damaged one{v.invariant, *v.layer, *v.ledger};
      if (const std::string bytes = bytesOf(session, one); !bytes.empty()) m_rows.emplace(one, bytes);
    }
    return {};
  }
  bool lit() const { return !m_lit.empty(); }

 private:
  std::map<Damaged, std::string> m_rows;
  std::set<std::string> m_lit;  // ever
};

/// Calls that repair nothing, one after another, and forks; what is wrong, or nothing.
std::string goesOn(Session& session, Watched& watched, unsigned seed, int calls) {
  std::mt19937 random(seed);
  const auto call = [&](const char* verb, const json& args) { (void)test::scripted(session, verb, args); };
  for (int i = 0; i < calls; ++i) {
    const int length = session.state().length();
    const auto sort = random() % 9;
    if (sort < 4) call("step", {{"n", 1 + random() % 2}});
    if (sort == 4) call("undo", {{"n", 1 + random() % 3}});
    if (sort == 5) call("redo", {{"n", 1 + random() % 3}});
    if (sort == 6 && length > 8)
      call("inject", {{"actions", {{{"action", "delete"}, {"position", random() % 8}}}}, {"now", true}});
    if (sort == 7) call("pin", {{"ledger", random() % 8}, {"on", random() % 2 == 0}});
    if (sort == 8) call("invariants", json::object());
    if (const std::string wrong = watched.look(session); !wrong.empty())
      return "call " + std::to_string(i) + ": " + wrong;
    if (i % 8 != 7 || !session.usable()) continue;
    const Result<std::unique_ptr<Session>> fork = session.fork();
    Watched copy = watched;
    if (!fork) continue;
    (void)test::scripted(**fork, "step", json::object());
    if (const std::string wrong = copy.look(**fork); !wrong.empty()) return "a fork: " + wrong;
  }
  return {};
}

}  // namespace

class LampsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void faults_data() {
    QTest::addColumn<QByteArray>("kind");
    QTest::addColumn<QByteArray>("params");
    for (const FaultKind& one : faultKinds()) {
      if (one.caughtBy.empty()) continue;
      QTest::newRow(one.kind.data()) << QByteArray(one.kind.data()) << QByteArray("{}");
      if (std::string_view(one.params).find("column") != std::string_view::npos)
        QTest::addRow("%s of entries", one.kind.data())
            << QByteArray(one.kind.data()) << QByteArray(R"({"column": "entries"})");
    }
  }
  void faults() {
    QFETCH(QByteArray, kind);
    QFETCH(QByteArray, params);
    for (const char* level : {"full", "cheap"})
      for (unsigned seed = 1; seed <= 4; ++seed) {
        SessionFixture s({{"faults", true},
                          {"check", {{"level", level}, {"scrub_period", 4}}},
                          {"kv", {{"k", "int8"}, {"v", "int8"}}}});
        s.prompt(24, seed);
        s.must("step", {{"n", 2}});
        json args = json::parse(params.toStdString());
        args.update({{"kind", kind.toStdString()}, {"seed", seed}});
        s.must("fault", args);
        s.must("invariants");
        Watched watched;
        QVERIFY(watched.look(*s).empty() && watched.lit());
        const std::string wrong = goesOn(*s, watched, seed, 40);
        QVERIFY2(wrong.empty(), (std::string(level) + ", seed " + std::to_string(seed) + ", " + wrong).c_str());
      }
  }

  void bugs_data() {
    QTest::addColumn<int>("at");
    const Result<std::vector<ClinicCase>> all = readClinic(KVLAB_RESOURCES_DIR);
    for (std::size_t i = 0; i < all->size(); ++i) QTest::newRow((*all)[i].bug.c_str()) << static_cast<int>(i);
  }
  /// The bug goes when it has done its harm: that stays.
  void bugs() {
    QFETCH(int, at);
    const Result<std::vector<ClinicCase>> all = readClinic(KVLAB_RESOURCES_DIR);
    const ClinicCase& one = (*all)[static_cast<std::size_t>(at)];
    const QTemporaryDir folder;
    for (const bool stays : {false, true}) {
      const Result<Manifest> manifest = Manifest::fromJson(clinicManifest(one, "full"));
      const Result<std::unique_ptr<Session>> s = openSession(*manifest, KVLAB_RESOURCES_DIR);
      Watched watched;
      const auto call = [&](const ClinicStep& step) {
        QVERIFY(execute(**s, step.verb, stepArgs(step, folder.path().toStdString())));
        const std::string wrong = watched.look(**s);
        QVERIFY2(wrong.empty(), wrong.c_str());
      };
      for (const ClinicStep& step : one.before) call(step);
      call({"bug", {{"name", one.bug}}});
      for (const ClinicStep& step : one.after) call(step);
      QVERIFY(watched.lit());
      if (!stays) call({"bug", json::object()});
      const std::string wrong = goesOn(**s, watched, 7, 24);
      QVERIFY2(wrong.empty(), (std::string(stays ? "with" : "without") + " the bug, " + wrong).c_str());
    }
  }

  /// A repair puts the lamps out, and going back behind it lights them again.
  void aRebuildPutsThemOut() {
    SessionFixture s({{"faults", true}, {"check", {{"level", "full"}}}});
    s.prompt(27);
    s.must("bug", {{"name", "zeroed_rows"}});
    s.must("step", {{"n", 8}});
    QVERIFY(red(*s).contains("exact_rows"));
    s.must("bug");
    s.must("step", {{"n", 40}});
    QVERIFY(red(*s).contains("exact_rows"));
    s.must("rebuild");
    QVERIFY(red(*s).empty());
    s.must("step");
    QVERIFY(red(*s).empty());
    s.must("undo", {{"n", 2}});
    QVERIFY(red(*s).contains("exact_rows"));
    s.must("redo", {{"n", 2}});
    QVERIFY(red(*s).empty());
    s.must("undo", {{"n", 47}});
    QVERIFY(red(*s).empty());
  }

  /// Harm of a pass stays until its rows are gone, and checks stay cheap meanwhile.
  void harmGoesWithItsRows() {
    SessionFixture s({{"faults", true}, {"check", {{"level", "cheap"}}}});
    s.prompt(65);  // a query at an edge of 64 rows reads only itself
    s.must("bug", {{"name", "block_edge_leak"}});
    s.must("inject", {{"actions", {{{"action", "delete"}, {"position", 3}}}}, {"now", true}});
    s.must("step", {{"n", 2}});
    s.must("bug");
    QVERIFY(red(*s).contains("visible_rows"));
    const Tick full = s->snapshot()->alignment.full;
    std::set<std::int32_t> harmed;
    for (const Finding& one : s->health().alignment.findings())
      if (one.violation.ledger) harmed.insert(one.violation.ledger->value());
    QCOMPARE(harmed.size(), std::size_t{1});
    s.must("step", {{"n", 10}});
    QVERIFY(red(*s).contains("visible_rows"));
    QCOMPARE(s->snapshot()->alignment.full, full);
    const auto& context = s->state().context;
    const auto place = std::ranges::find(context, LedgerId(*harmed.begin())) - context.begin();
    s.must("inject", {{"actions", {{{"action", "delete"}, {"position", place}}}}, {"now", true}});
    QVERIFY(!red(*s).contains("visible_rows"));
    s.must("undo");
    QVERIFY(red(*s).contains("visible_rows"));
  }
};

KV_TEST(LampsTest)
#include "lamps_test.moc"
