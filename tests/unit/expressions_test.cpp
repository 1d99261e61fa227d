// SPDX-License-Identifier: Apache-2.0
// The language of breakpoints and watches: refusals with their places, the binding of operators, the meaning of each
// fact, and facts against a comparison of whole states before and after random commits.
#include <cmath>
#include <set>

#include "core/session/observe.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

/// All that a reader can see of the rows of a state, copied.
struct Rows {
  struct Row {
    std::int32_t slot = 0;
    double phase = 0;
    std::string bytes;
  };
  std::vector<std::map<std::int32_t, Row>> layers;  // by ledger id
  std::set<std::int32_t> changed;                   // ids whose token was replaced or deleted
};

Rows storedRows(const Session& session) {
  Rows out;
  const CacheState& state = session.state();
  for (const CacheLayer layer : state.layers()) {
    const RowPool& pool = session.store().pool(layer);
    const kernels::RowLayout layout = kernels::rowLayout(pool.format());
    const ResidencyView& map = state.map(layer);
    auto& rows = out.layers.emplace_back();
    for (auto i = static_cast<std::size_t>(map.first); i < map.size(); ++i) {
      std::vector<std::uint8_t> record(static_cast<std::size_t>(pool.stride()));
      pool.readRecords({&map.slotOf[i], 1}, record.data());
      rows[map.ledger[i].value()] = {
          map.slotOf[i].value(), map.phase(i).value(),
          std::string(reinterpret_cast<const char*>(record.data()), static_cast<std::size_t>(layout.tag))};
    }
  }
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(state.ledger.size()); ++id) {
    const RowState now = state.ledger[LedgerId(id)].state;
    if (now == RowState::Replaced || now == RowState::Deleted) out.changed.insert(id);
  }
  return out;
}

/// A random commit; false if the session refused it.
bool commitSomething(SessionFixture& s, std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int length = s->state().length(), at = below(length), layer = below(static_cast<int>(s->cacheLayers().layers));
  const auto token = [&] { return json::array({3 + below(250)}); };
  switch (below(7)) {
    case 0:
      return static_cast<bool>(s.verb(
          "inject",
          {{"actions", {{{"action", "replace"}, {"positions", {at}}, {"new_token_ids", token()}}}}, {"now", true}}));
    case 1:
      return static_cast<bool>(
          s.verb("inject", {{"actions", {{{"action", "delete"}, {"position", at}}}}, {"now", true}}));
    case 2:
      return static_cast<bool>(
          s.verb("inject",
                 {{"actions", {{{"action", "insert"}, {"position", at}, {"new_token_ids", token()}}}}, {"now", true}}));
    case 3: {
      const auto& map = s->state().map(CacheLayer(layer));
      if (map.resident() < 4) return false;
      const auto id = map.ledger[static_cast<std::size_t>(map.first) + map.resident() / 2].value();
      return static_cast<bool>(s.verb("evict", {{"layer", layer}, {"ledger", {id}}, {"now", true}}));
    }
    case 4:
      return static_cast<bool>(
          s.verb("promptIds", {{"ids", SessionFixture::ids(1 + below(4), static_cast<unsigned>(random()))}}));
    default: return static_cast<bool>(s.verb("step"));
  }
}

bool holds(const std::string& text, const Sight& at) {
  const Result<Expression> read = Expression::condition(text);
  if (!read) qFatal("%s", read.error().text().c_str());
  return read->holds(at);
}

double number(const std::string& text, const Sight& at) {
  const Result<Expression> read = Expression::parse(text);
  if (!read) qFatal("%s", read.error().text().c_str());
  return std::get<double>(read->value(at));
}

std::string named(const char* fact, int layer, std::int32_t id) {
  return std::string(fact) + "(layer==" + std::to_string(layer) + ", ledger==" + std::to_string(id) + ")";
}

}  // namespace

class ExpressionsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void refusals_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("why");
    QTest::addColumn<int>("character");
    const auto row = [](const char* text, const char* why, int character) {
      QTest::newRow(text) << text << why << character;
    };
    row("", "it ends where a fact", 1);
    row("kl >", "it ends where a fact", 5);
    row("lunch > 3", "there is no fact \"lunch\"", 1);
    row("kl > 3 4", "an operator or the end", 8);
    row("kl", "a number stands where a condition", 1);
    row("length >= 3 and kl", "a number stands where a condition", 17);
    row("'a'", "a text stands where a condition", 1);
    row("not 3", "a number stands where a condition", 5);
    row("kl > 'a'", "compares a number with a text", 4);
    row("text > 'a'", "compares numbers, not a text", 6);
    row("1 < 2 < 3", "join two with and", 7);
    row("-error", "- takes a number", 1);
    row("error + 1 > 2", "+ takes numbers", 7);
    row("evicted(slot==3)", "takes comparisons of layer, ledger", 9);
    row("kl(layer==3) > 1", "takes no brackets", 4);
    row("evicted(layer 3)", "== , !=", 15);
    row("evicted(layer==x)", "a number is expected", 16);
    row("evicted(layer==3", ", or ) is expected", 17);
    row("(length > 3", ") is expected", 12);
    row("text == 'a", "the text has no end", 9);
    row("stage(lunch)", "a tick has no stage", 7);
    row("changed(token)", "takes facts of a state", 1);
    row("changed(changed(length))", "takes facts of a state", 1);
    row("before(evictions) > 1", "takes facts of a state", 1);
    row("length > 1e999", "a number is expected", 10);
    row("& > 3", "a fact, a number or a text", 1);
  }
  void refusals() {
    QFETCH(QString, text);
    QFETCH(QString, why);
    QFETCH(int, character);
    const Result<Expression> read = Expression::condition(text.toStdString());
    QVERIFY(!read);
    QCOMPARE(read.error().code, std::string("bad_condition"));
    const QString said = QString::fromStdString(read.error().text());
    if (why == "== , !=") why = "==, !=, >, >=, < or <= is expected";
    QVERIFY2(said.contains(why), qPrintable(said));
    QVERIFY2(said.contains(QString("(character %1)").arg(character)), qPrintable(said));
  }

  void longAndDeepTextsAreRefused() {
    QVERIFY(!Expression::parse(std::string(500, '1')));
    QVERIFY(!Expression::parse(std::string(150, '(') + "1" + std::string(150, ')')));
    QVERIFY(!Expression::parse(std::string(150, '-') + "1"));
    QVERIFY(!Expression::condition(std::string(150, '!') + "error"));
    QVERIFY(Expression::parse(std::string(20, '(') + "1" + std::string(20, ')')));
    std::string sum = "1";
    for (int i = 0; i < 150; ++i) sum += "+1";
    QCOMPARE(number(sum, {}), 151.0);
  }

  void operatorsBind_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<double>("value");
    QTest::newRow("times before plus") << "1 + 2 * 3" << 7.0;
    QTest::newRow("brackets") << "(1 + 2) * 3" << 9.0;
    QTest::newRow("from the left") << "10 - 4 - 3" << 3.0;
    QTest::newRow("division") << "8 / 4 / 2" << 1.0;
    QTest::newRow("remainder") << "17 % 5" << 2.0;
    QTest::newRow("sign") << "2 - -3" << 5.0;
    QTest::newRow("fraction") << "0.5 + 1e-1" << 0.6;
  }
  void operatorsBind() {
    QFETCH(QString, text);
    QFETCH(double, value);
    QCOMPARE(number(text.toStdString(), {}), value);
  }

  void conditionsBind() {
    const Sight none;
    QVERIFY(holds("1 < 2 or 1 < 0 and 1 < 0", none));
    QVERIFY(!holds("(1 < 2 or 1 < 0) and 1 < 0", none));
    QVERIFY(holds("not 1 == 2", none));
    QVERIFY(!holds("not 1 < 2 or 2 < 1", none));
    QVERIFY(holds("!(2 < 1) && 'a' != 'b' || 2 < 1", none));
    QVERIFY(holds("\"x\" == 'x'", none));
  }

  /// An unknown value compares with nothing, not even as unequal.
  void whatIsNotKnown() {
    SessionFixture s;
    s.prompt(8);
    Sight at;
    at.now.state = &s->state();
    for (const char* text :
         {"kl > 0", "kl <= 0", "kl == kl", "kl != 1", "token != 3", "position(ledger==999) != 1", "evictions >= 0",
          "evicted", "changed(length)", "before(length) < 5", "exactness != ''", "length / 0 > 1", "0 - length / 0 < 1",
          "length / 0 != 3", "1 / (length / 0) < 1", "1e308 * 10 > 1"})
      QVERIFY2(!holds(text, at), text);
    QVERIFY(std::isnan(number("rows(layer==0) / 0 - rows(layer==0) / 0", at)));
    QCOMPARE(s.must("value", {{"expression", "position(ledger==999)"}}), json());
  }

  void valuesOfASession() {
    SessionFixture s;
    s.prompt(20);
    s.must("step");
    const auto value = [&](const char* text) { return s.must("value", {{"expression", text}}); };
    QCOMPARE(value("length"), json(21));
    QCOMPARE(value("tick"), s.must("tick"));
    QCOMPARE(value("rows"), json(21));
    QCOMPARE(value("position(ledger==7)"), json(7));
    QCOMPARE(value("phase(layer==0, ledger==7)"), json(7));
    QCOMPARE(value("before(length)"), json(20));
    QCOMPARE(value("changed(length)"), json(true));
    QCOMPARE(value("token"), json(s.tokens().back()));
    QCOMPARE(value("exactness(ledger==7)"), json("exact"));
    QCOMPARE(value("kl < 0.001"), json(true));
    QCOMPARE(value("written(ledger==20)"), json(true));
    QCOMPARE(value("written(ledger==19)"), json(false));
    s.must("inject",
           {{"actions", {{{"action", "replace"}, {"positions", {8}}, {"new_token_ids", {21}}}}}, {"now", true}});
    QCOMPARE(value("exactness(ledger==9) != 'exact'"), json(true));
    QCOMPARE(value("exactness(ledger==7)"), json("exact"));
    QCOMPARE(value("stale(ledger==9)"), json(true));
    QCOMPARE(value("stale(ledger==7)"), json(false));
    QCOMPARE(value("replaced(ledger==8)"), json(true));
    QCOMPARE(value("actions"), json(1));
    QVERIFY(value("kl").get<double>() > 0);
    const std::string hash = s.hash();
    value("brightness + read + slot");
    QCOMPARE(s.hash(), hash);
  }

  void whatCannotHoldIsRefused_data() {
    QTest::addColumn<QString>("condition");
    QTest::addColumn<QString>("why");
    QTest::newRow("no such layer") << "evicted(layer==99)"
                                   << "no layer is meant: layers are 0 to";
    QTest::newRow("no such layers") << "rows(layer>1, layer<1) > 3"
                                    << "no layer is meant";
    QTest::newRow("half a layer") << "wrap(layer==0.5)"
                                  << "no layer is meant";
    QTest::newRow("no such slot") << "written(slot==1000000)"
                                  << "no slot is meant";
    QTest::newRow("no such row") << "stale(ledger<0)"
                                 << "no row is meant";
    QTest::newRow("inside") << "not (kl > 0 and moved(layer==-1))"
                            << "no layer is meant";
    QTest::newRow("no fact") << "1 < 2"
                             << "it asks for no fact";
  }
  void whatCannotHoldIsRefused() {
    QFETCH(QString, condition);
    QFETCH(QString, why);
    SessionFixture s;
    const Result<json> refused = s.verb("break", {{"condition", condition.toStdString()}});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, std::string("bad_condition"));
    QVERIFY2(QString::fromStdString(refused.error().text()).contains(why), refused.error().text().c_str());
    QVERIFY(s->breakpoints().points().empty());
    QVERIFY(s.verb("break", {{"condition", "evicted(layer>=0, layer!=0, ledger<3)"}}));
  }

  void breakpointsIgnoreAndEnd() {
    SessionFixture s;
    s.prompt(20);
    s.must("break", {{"condition", "changed(length)"}, {"ignore", 2}, {"once", true}});
    QCOMPARE(s.must("run", {{"maxTicks", 10}})["count"], json(3));
    QVERIFY(s->breakpoints().points().empty());
    s.must("break", {{"condition", "changed(length)"}, {"ignore", 1}});
    s.must("break", {{"condition", "tick >= 0"}, {"ignore", 2}});
    QCOMPARE(s.must("run", {{"maxTicks", 10}})["stoppedBy"], json("changed(length)"));
    QCOMPARE(s.must("run", {{"maxTicks", 10}})["count"], json(1));
    QCOMPARE(s->breakpoints().points().back().view.ignore, std::int64_t(0));  // it held each time, too
  }

  void breakpointsLogAndRest() {
    SessionFixture s;
    s.prompt(20);
    std::vector<std::int64_t> seen;  // hits in the snapshots
    s->setPublish([&](const SnapshotPtr& shown) {
      if (shown->breakpoints) seen.push_back(shown->breakpoints->front().hits);
    });
    s.must("break", {{"condition", "changed(length)"}, {"log", true}});
    s.must("break", {{"condition", "tick % 4 == 0"}});
    const json first = s.must("run", {{"maxTicks", 10}});
    QCOMPARE(first["stoppedBy"], json("tick % 4 == 0"));
    const json all = s.must("breaks");
    QCOMPARE(all[0]["hits"], first["count"]);
    QCOMPARE(all[0]["last"], json(s->state().tick.value()));
    QCOMPARE(all[1]["hits"], json(1));
    QCOMPARE(seen.back(), first["count"].get<std::int64_t>());
    s.must("changeBreak", {{"id", all[1]["id"]}, {"enabled", false}});
    QCOMPARE(s.must("run", {{"maxTicks", 6}})["stoppedBy"], json("max_ticks"));
    QCOMPARE(s.must("breaks")[1]["hits"], json(1));  // it was not asked
    QCOMPARE(s.must("clearBreaks", {{"id", all[0]["id"]}}), json::array({"tick % 4 == 0"}));
    QCOMPARE(s.verb("changeBreak", {{"id", all[0]["id"]}}).error().code, std::string("no_breakpoint"));
    QCOMPARE(s.verb("runBack").error().code, std::string("no_breakpoint"));  // the other one rests
    s.must("changeBreak", {{"id", all[1]["id"]}, {"enabled", true}});
    QCOMPARE(s.must("runBack")["stoppedBy"], json("tick % 4 == 0"));
    s.must("clearBreaks");
    QVERIFY(!s->snapshot()->breakpoints);
  }

  /// Facts of rows against a comparison of all rows before and after, over layouts and random commits.
  void factsEqualBruteForce_data() {
    QTest::addColumn<QString>("manifest");
    for (const char* layout : {"indirection", "contiguous_splice", "paged:block=4", "ring_fused", "ring_roll"})
      for (const char* position : {"context", "cache"})
        QTest::addRow("%s, %s", layout, position) << QString::fromStdString(
            json{{"layout", layout}, {"position", position}, {"ring", {{"window", 40}}}}.dump());
  }
  void factsEqualBruteForce() {
    QFETCH(QString, manifest);
    json changes = json::parse(manifest.toStdString());
    if (changes["layout"].get<std::string>().rfind("ring", 0) != 0) changes.erase("ring");
    SessionFixture s(changes);
    s.prompt(24);
    std::mt19937 random(11);
    int commits = 0, hits = 0;
    for (int i = 0; i < 60; ++i) {
      const CacheState before = s->state();
      const Rows then = storedRows(*s);
      if (!commitSomething(s, random) || s->state().length() < 8) continue;
      ++commits;
      const Rows now = storedRows(*s);
      Sight at;
      at.before.state = &before;
      at.now.state = &s->state();
      at.report = s->health().report.get();
      bool anyMoved = false, anyChanged = false;
      double lastSlot = -1, lastPhase = -1, mostRows = 0;
      for (int l = 0; l < static_cast<int>(now.layers.size()); ++l) {
        const auto &old = then.layers[static_cast<std::size_t>(l)], &rows = now.layers[static_cast<std::size_t>(l)];
        QCOMPARE(number("rows(layer==" + std::to_string(l) + ")", at), static_cast<double>(rows.size()));
        mostRows = std::max(mostRows, static_cast<double>(rows.size()));
        QCOMPARE(holds("changed(rows(layer==" + std::to_string(l) + "))", at), rows.size() != old.size());
        for (const auto& [id, row] : rows) {
          const auto was = old.find(id);
          const bool moved = was != old.end() && was->second.slot != row.slot;
          anyMoved = anyMoved || moved;
          lastSlot = std::max(lastSlot, static_cast<double>(row.slot));
          lastPhase = std::max(lastPhase, row.phase);
          QCOMPARE(number(named("slot", l, id), at), static_cast<double>(row.slot));
          QCOMPARE(number(named("phase", l, id), at), row.phase);
          QCOMPARE(holds(named("moved", l, id), at), moved);
          const bool other = was == old.end() || was->second.bytes != row.bytes;
          const bool written = holds(named("written", l, id), at);
          if (other) QVERIFY2(written, named("written", l, id).c_str());
          hits += written;
        }
      }
      for (const std::int32_t id : now.changed) {
        const bool fresh = !then.changed.contains(id) &&
            std::find(before.context.begin(), before.context.end(), LedgerId(id)) != before.context.end();
        anyChanged = anyChanged || fresh;
        QCOMPARE(holds("changed(ledger==" + std::to_string(id) + ")", at), fresh);
      }
      QCOMPARE(holds("moved", at), anyMoved);
      QCOMPARE(number("slot", at), lastSlot);
      QCOMPARE(number("phase", at), lastPhase);
      QCOMPARE(number("rows", at), mostRows);
      QCOMPARE(holds("changed(ledger>=0)", at), anyChanged);
    }
    QVERIFY2(commits > 30 && hits > 60, qPrintable(QString("%1 commits, %2 written").arg(commits).arg(hits)));
  }
};

KV_TEST(ExpressionsTest)
#include "expressions_test.moc"
