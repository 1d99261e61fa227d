// SPDX-License-Identifier: Apache-2.0
// The planner: every refusal with its action, field and value; the result of a good list; the
// reference list of semantics.md, section 3. Planning changes nothing.
#include "support/cache_fixture.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;
using Options = CacheFixture::Options;

namespace {

template <class Id>
std::vector<Id> idsOf(const json& list) {
  std::vector<Id> out;
  for (const json& value : list) out.emplace_back(value.get<int>());
  return out;
}

/// Actions as they are written, without the checks of form that actionsFromJson makes.
std::vector<Action> parse(const char* list) {
  std::vector<Action> out;
  for (const json& a : json::parse(list)) {
    const std::string kind = a["action"];
    const auto position = [&](const char* field) { return Position(a[field].get<int>()); };
    if (kind == "replace_pair")
      out.push_back(
          ReplacePair{position("original_pos1"), position("original_pos2"), idsOf<TokenId>(a["new_token_ids"])});
    else if (kind == "replace")
      out.push_back(Replace{idsOf<Position>(a["positions"]), idsOf<TokenId>(a["new_token_ids"])});
    else if (kind == "delete") out.push_back(Delete{position("position")});
    else if (kind == "insert") out.push_back(Insert{position("position"), idsOf<TokenId>(a["token_ids"])});
    else if (kind == "add") out.push_back(Add{TokenId(a["token_id"].get<int>())});
    else if (kind == "expand") out.push_back(Expand{NodeId(a["node"].get<int>())});
    else if (kind == "collapse") out.push_back(Collapse{NodeId(a["node"].get<int>())});
    else
      out.push_back(Evict{Layer(a["layer"].get<int>()),
                          a.contains("kv_head") ? std::optional(Head(a["kv_head"].get<int>())) : std::nullopt,
                          idsOf<LedgerId>(a["ledger"])});
  }
  return out;
}

std::vector<std::int32_t> ints(const Column<std::int32_t>& column) { return {column.begin(), column.end()}; }
template <class Ids>
std::vector<std::int32_t> values(const Ids& ids) {
  std::vector<std::int32_t> out;
  for (const auto& id : ids) out.push_back(id.value());
  return out;
}
using Ints = std::vector<std::int32_t>;

/// 20 tokens; row 3 pinned; row 5 absent from layer 1 and row 9 from every layer.
void furnishForPlans(CacheFixture& cache) {
  QVERIFY(cache.add(20));
  QVERIFY(cache.apply({Evict{Layer(0), {}, {LedgerId(9)}}, Evict{Layer(1), {}, {LedgerId(5), LedgerId(9)}},
                       Evict{Layer(2), {}, {LedgerId(9)}}}));
  cache.state.ledger.pin(LedgerId(3), true);
}

/// Everything a plan could have changed, in words.
std::string stateDigest(const CacheState& state) {
  std::string out = json(values(state.context)).dump() + json(ints(state.phases)).dump();
  for (const CacheLayer layer : state.layers())
    out += json(values(state.map(layer).ledger)).dump() + json(values(state.map(layer).slotOf)).dump();
  for (std::size_t i = 0; i < state.ledger.size(); ++i)
    out += std::string(name(state.ledger[LedgerId(static_cast<int>(i))].state));
  return out;
}

}  // namespace

class PlannerTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void badListsAreRefused_data() {
    QTest::addColumn<QByteArray>("list");
    QTest::addColumn<QByteArray>("code");
    QTest::addColumn<int>("action");
    QTest::addColumn<QByteArray>("field");
    QTest::addColumn<QByteArray>("value");
    const auto row = [](const char* name, const char* list, const char* code, int action, const char* field,
                        const char* value) {
      QTest::newRow(name) << QByteArray(list) << QByteArray(code) << action << QByteArray(field) << QByteArray(value);
    };
#define PAIR(a, b, ids) \
  R"({"action":"replace_pair","original_pos1":)" #a R"(,"original_pos2":)" #b R"(,"new_token_ids":)" ids "}"
#define REPLACE(positions, ids) R"({"action":"replace","positions":)" positions R"(,"new_token_ids":)" ids "}"
#define DELETE(p) R"({"action":"delete","position":)" #p "}"
#define INSERT(p, ids) R"({"action":"insert","position":)" #p R"(,"token_ids":)" ids "}"
#define ADD(id) R"({"action":"add","token_id":)" #id "}"
#define EVICT(layer, ids) R"({"action":"evict","layer":)" #layer R"(,"ledger":)" ids "}"
    row("pair below", "[" PAIR(-1, 4, "[1]") "]", "out_of_range", 0, "original_pos1", "-1");
    row("pair above", "[" PAIR(4, 20, "[1]") "]", "out_of_range", 0, "original_pos2", "20");
    row("pair reversed", "[" PAIR(5, 4, "[1]") "]", "bad_order", 0, "original_pos2", "4");
    row("pair of one", "[" PAIR(5, 5, "[1]") "]", "bad_order", 0, "original_pos2", "5");
    row("pair without ids", "[" PAIR(4, 5, "[]") "]", "empty_tokens", 0, "new_token_ids", "[]");
    row("pair, id above", "[" PAIR(4, 5, "[1,1000]") "]", "bad_token", 0, "new_token_ids", "1000");
    row("pair, id below", "[" PAIR(4, 5, "[-2]") "]", "bad_token", 0, "new_token_ids", "-2");
    row("replace nothing", "[" REPLACE("[]", "[1]") "]", "empty_positions", 0, "positions", "[]");
    row("replace out of order", "[" REPLACE("[2,6,4]", "[1]") "]", "bad_order", 0, "positions", "4");
    row("replace one twice", "[" REPLACE("[2,2]", "[1]") "]", "bad_order", 0, "positions", "2");
    row("replace beyond", "[" REPLACE("[2,25]", "[1]") "]", "out_of_range", 0, "positions", "25");
    row("replace by nothing", "[" REPLACE("[2,3]", "[]") "]", "empty_tokens", 0, "new_token_ids", "[]");
    row("delete beyond", "[" DELETE(20) "]", "out_of_range", 0, "position", "20");
    row("delete before", "[" DELETE(-1) "]", "out_of_range", 0, "position", "-1");
    row("delete far beyond", "[" DELETE(2147483647) "]", "out_of_range", 0, "position", "2147483647");
    row("insert beyond", "[" INSERT(21, "[1]") "]", "out_of_range", 0, "position", "21");
    row("insert nothing", "[" INSERT(3, "[]") "]", "empty_tokens", 0, "token_ids", "[]");
    row("insert unknown", "[" INSERT(3, "[1,2,3000]") "]", "bad_token", 0, "token_ids", "3000");
    row("add unknown", "[" ADD(1000) "]", "bad_token", 0, "token_id", "1000");
    row("add negative", "[" ADD(-1) "]", "bad_token", 0, "token_id", "-1");
    row("second is bad", "[" DELETE(3) "," ADD(1) "," DELETE(33) "]", "out_of_range", 2, "position", "33");
    row("two pairs overlap", "[" PAIR(4, 5, "[1]") "," PAIR(5, 6, "[2]") "]", "overlap", 1, "position", "5");
    row("order of list does not matter", "[" PAIR(5, 6, "[1]") "," PAIR(4, 5, "[2]") "]", "overlap", 1, "position",
        "5");
    row("delete inside a pair", "[" DELETE(8) "," PAIR(2, 8, "[1]") "]", "overlap", 1, "position", "8");
    row("delete twice", "[" DELETE(8) "," ADD(1) "," DELETE(8) "]", "overlap", 2, "position", "8");
    row("insert inside a pair", "[" PAIR(4, 5, "[1]") "," INSERT(5, "[1]") "]", "overlap", 1, "position", "5");
    row("insert between deletes", "[" INSERT(5, "[1]") "," DELETE(4) "," DELETE(5) "]", "overlap", 0, "position", "5");
    row("insert inside a replace", "[" REPLACE("[3,4,5,8]", "[1]") "," INSERT(4, "[1]") "]", "overlap", 1, "position",
        "4");
    row("evict from no layer", "[" EVICT(3, "[1]") "]", "out_of_range", 0, "layer", "3");
    row("evict from layer -1", "[" EVICT(-1, "[1]") "]", "out_of_range", 0, "layer", "-1");
    row("evict nothing", "[" EVICT(0, "[]") "]", "empty_positions", 0, "ledger", "[]");
    row("evict what is gone", "[" EVICT(1, "[5]") "]", "not_resident", 0, "ledger", "5");
    row("evict what never was", "[" EVICT(1, "[4,77]") "]", "not_resident", 0, "ledger", "77");
    row("evict below", "[" EVICT(1, "[-1]") "]", "not_resident", 0, "ledger", "-1");
    row("evict a pinned row", "[" EVICT(1, "[3]") "]", "pinned", 0, "ledger", "3");
    row("evict twice in one", "[" EVICT(1, "[4,4]") "]", "overlap", 0, "ledger", "4");
    row("evict twice in two", "[" EVICT(0, "[4]") "," EVICT(1, "[4]") "," EVICT(1, "[6,4]") "]", "overlap", 2, "ledger",
        "4");
    row("evict what is deleted", "[" DELETE(4) "," EVICT(1, "[4]") "]", "overlap", 1, "ledger", "4");
    row("evict one KV head", R"([{"action":"evict","layer":0,"kv_head":1,"ledger":[4]}])", "unsupported", 0, "kv_head",
        "1");
    row("expand", R"([{"action":"expand","node":1}])", "unsupported", 0, "node", "null");
    row("collapse", R"([{"action":"collapse","node":1}])", "unsupported", 0, "node", "null");
  }
  void badListsAreRefused() {
    QFETCH(QByteArray, list);
    QFETCH(QByteArray, code);
    QFETCH(int, action);
    QFETCH(QByteArray, field);
    QFETCH(QByteArray, value);
    for (int position = 0; position < 3; ++position) {
      CacheFixture cache({.position = static_cast<PositionMode>(position)});
      furnishForPlans(cache);
      const std::string before = stateDigest(cache.state);
      const Result<EditPlan> plan = cache.plan(parse(list));
      QVERIFY(!plan);
      const Error& error = plan.error();
      QCOMPARE(QByteArray::fromStdString(error.code), code);
      QCOMPARE(error.action.value_or(-1), action);
      QCOMPARE(QByteArray::fromStdString(error.field), field);
      QCOMPARE(QByteArray::fromStdString(error.value.dump()), value);
      QVERIFY(!error.what.empty() && !error.why.empty() && !error.remedy.empty());
      QCOMPARE(stateDigest(cache.state), before);
    }
  }

  void goodNeighboursPass_data() {
    QTest::addColumn<QByteArray>("list");
    QTest::addColumn<QByteArray>("ids");  // ids of the context afterwards
    const auto row = [](const char* name, const char* list, const char* ids) {
      QTest::newRow(name) << QByteArray(list) << QByteArray(ids);
    };
    row("nothing", "[]", "[0,1,2,3,4,5,6,7]");
    row("insert before a pair", "[" PAIR(4, 5, "[1]") "," INSERT(4, "[7]") "]", "[0,1,2,3,8,9,6,7]");
    row("insert behind a pair", "[" PAIR(4, 5, "[1]") "," INSERT(6, "[7]") "]", "[0,1,2,3,8,9,6,7]");
    row("insert between a pair's tokens", "[" PAIR(2, 5, "[1]") "," INSERT(4, "[7]") "]", "[0,1,8,3,9,4,6,7]");
    row("two inserts keep list order", "[" INSERT(4, "[1,2]") "," INSERT(4, "[3]") "]", "[0,1,2,3,8,9,10,4,5,6,7]");
    row("insert at both ends", "[" INSERT(8, "[1]") "," INSERT(0, "[2]") "]", "[8,0,1,2,3,4,5,6,7,9]");
    row("insert at the end, then add", "[" ADD(4) "," INSERT(8, "[1]") "]", "[0,1,2,3,4,5,6,7,8,9]");
    row("delete both ends", "[" DELETE(7) "," DELETE(0) "]", "[1,2,3,4,5,6]");
    row("delete all, add one", "[" REPLACE("[0,1,2,3,4,5,6,7]", "[9]") "," ADD(1) "]", "[8,9]");
    row("interleaved replaces", "[" REPLACE("[1,4]", "[1]") "," REPLACE("[2,5]", "[2,3]") "]", "[0,8,9,10,3,6,7]");
    row("adds keep list order", "[" ADD(1) "," DELETE(3) "," ADD(2) "]", "[0,1,2,4,5,6,7,8,9]");
  }
  void goodNeighboursPass() {
    QFETCH(QByteArray, list);
    QFETCH(QByteArray, ids);
    for (int position = 0; position < 3; ++position) {
      CacheFixture cache({.position = static_cast<PositionMode>(position)});
      QVERIFY(cache.add(8));
      QVERIFY(cache.apply(parse(list)));
      QCOMPARE(QByteArray::fromStdString(json(values(cache.state.context)).dump()), ids);
      QVERIFY2(checkAll(cache.input(true)).empty(), qPrintable(text(checkAll(cache.input(true)))));
    }
  }

  void insertOrderGivesTokens() {
    CacheFixture cache({});
    QVERIFY(cache.add(8));
    const EditPlan plan =
        cache.plan(parse("[" INSERT(4, "[11,12]") "," PAIR(4, 5, "[21]") "," INSERT(4, "[13]") "]")).take();
    Ints tokens;
    for (const NewRow& row : plan.rows) tokens.push_back(row.token.value());
    QCOMPARE(tokens, (Ints{11, 12, 13, 21}));
    QCOMPARE(plan.details.size(), std::size_t{3});
    QCOMPARE(values(plan.details[2].removed), (Ints{4, 5}));
    QCOMPARE(plan.details[2].place, 1);
    QCOMPARE(plan.details[2].finalPosition, Position(7));
    QCOMPARE(plan.firstChange, 4);
    QCOMPARE(plan.stale, 2);
    QCOMPARE(plan.phaseShifted, 2);
  }

  void replaceOnlyTheTailLeavesNothingStale() {
    CacheFixture cache({});
    QVERIFY(cache.add(8));
    const EditPlan plan = cache.plan(parse("[" PAIR(6, 7, "[1]") "," ADD(2) "]")).take();
    QCOMPARE(plan.stale, 0);
    QCOMPARE(plan.phaseShifted, 0);
    QCOMPARE(plan.firstChange, 6);
    QCOMPARE(cache.plan(parse("[" ADD(2) "]"))->firstChange, 9);
  }

  // --- phases -------------------------------------------------------------------------------------
  void absolutePhasesOfNewRows_data() {
    QTest::addColumn<QByteArray>("list");
    QTest::addColumn<QByteArray>("phases");   // "" = refused
    QTest::addColumn<QByteArray>("shifted");  // with absolute_overflow: shift
    const auto row = [](const char* name, const char* list, const char* phases, const char* shifted) {
      QTest::newRow(name) << QByteArray(list) << QByteArray(phases) << QByteArray(shifted);
    };
    row("fewer", "[" PAIR(2, 3, "[1]") "]", "[0,1,2,4,5,6,7]", "[0,1,2,4,5,6,7]");
    row("as many", "[" PAIR(2, 3, "[1,2]") "]", "[0,1,2,3,4,5,6,7]", "[0,1,2,3,4,5,6,7]");
    row("one too many", "[" PAIR(2, 3, "[1,2,3]") "]", "", "[0,1,2,3,4,5,6,7,8]");
    row("apart, first only", "[" PAIR(2, 5, "[1]") "]", "[0,1,2,3,4,6,7]", "[0,1,2,3,4,6,7]");
    row("apart, two for one place", "[" PAIR(2, 5, "[1,2]") "]", "", "[0,1,2,3,4,5,7,8]");
    row("insert", "[" INSERT(3, "[1]") "]", "", "[0,1,2,3,4,5,6,7,8]");
    row("insert at the end", "[" INSERT(8, "[1,2]") "]", "[0,1,2,3,4,5,6,7,8,9]", "[0,1,2,3,4,5,6,7,8,9]");
    row("longer at the end", "[" PAIR(6, 7, "[1,2,3]") "," ADD(4) "]", "[0,1,2,3,4,5,6,7,8,9]",
        "[0,1,2,3,4,5,6,7,8,9]");
    row("insert behind a gap", "[" DELETE(3) "," INSERT(3, "[1]") "]", "[0,1,2,3,4,5,6,7]", "[0,1,2,3,4,5,6,7]");
    row("delete the tail, add", "[" DELETE(7) "," ADD(1) "]", "[0,1,2,3,4,5,6,7]", "[0,1,2,3,4,5,6,7]");
    row("delete inside, add", "[" DELETE(2) "," ADD(1) "]", "[0,1,3,4,5,6,7,8]", "[0,1,3,4,5,6,7,8]");
    row("gaps stay where rows shift", "[" DELETE(5) "," INSERT(3, "[1]") "]", "", "[0,1,2,3,4,5,7,8]");
  }
  void absolutePhasesOfNewRows() {
    QFETCH(QByteArray, list);
    QFETCH(QByteArray, phases);
    QFETCH(QByteArray, shifted);
    for (const bool shift : {false, true}) {
      CacheFixture cache({.position = PositionMode::Absolute, .shift = shift});
      QVERIFY(cache.add(8));
      const QByteArray wanted = shift ? shifted : phases;
      const std::string before = stateDigest(cache.state);
      const Status done = cache.apply(parse(list));
      QCOMPARE(bool(done), !wanted.isEmpty());
      if (done) {
        QCOMPARE(QByteArray::fromStdString(json(ints(cache.state.phases)).dump()), wanted);
        QVERIFY2(checkAll(cache.input(true)).empty(), qPrintable(text(checkAll(cache.input(true)))));
      } else {
        QCOMPARE(done.error().code, std::string("no_phase_room"));
        QCOMPARE(stateDigest(cache.state), before);
      }
    }
  }

  void noPhaseRoomSaysHowMuch() {
    CacheFixture cache({.position = PositionMode::Absolute, .shift = false});
    QVERIFY(cache.add(12));
    const Result<EditPlan> plan = cache.plan(parse("[" DELETE(9) "," PAIR(2, 3, "[1,2,3,4,5]") "]"));
    QVERIFY(!plan);
    QCOMPARE(plan.error().action.value_or(-1), 1);
    QVERIFY2(plan.error().why.find("needed 5") != std::string::npos, plan.error().why.c_str());
    QVERIFY2(plan.error().why.find("free 2") != std::string::npos, plan.error().why.c_str());
  }

  void shiftIsCounted() {
    CacheFixture cache({.position = PositionMode::Absolute, .shift = true});
    QVERIFY(cache.add(8));
    QCOMPARE(cache.plan(parse("[" INSERT(3, "[1]") "]"))->phaseShifted, 5);
    QCOMPARE(cache.plan(parse("[" PAIR(2, 3, "[1]") "]"))->phaseShifted, 0);
  }

  // --- capacity -----------------------------------------------------------------------------------
  void capacityIsPerLayer() {
    CacheFixture cache({.capacity = 10});
    QVERIFY(cache.add(10));
    const Result<EditPlan> full = cache.plan({Add{TokenId(1)}});
    QVERIFY(!full);
    QCOMPARE(full.error().code, std::string("capacity"));
    QCOMPARE(full.error().field, std::string("capacity"));
    QVERIFY2(full.error().why.find("10") != std::string::npos, full.error().why.c_str());
    QVERIFY(cache.plan(parse("[" PAIR(2, 3, "[1]") "," ADD(1) "]")));
    QVERIFY(!cache.plan(parse("[" PAIR(2, 3, "[1]") "," ADD(1) "," ADD(2) "]")));
    const LedgerId oldest = cache.state.context[0];
    const std::vector<Action> inTwo{Evict{Layer(0), {}, {oldest}}, Evict{Layer(1), {}, {oldest}}, Add{TokenId(1)}};
    QVERIFY(!cache.plan(inTwo));  // layer 2 is still full
    std::vector<Action> inAll = inTwo;
    inAll.push_back(Evict{Layer(2), {}, {oldest}});
    QVERIFY(cache.apply(inAll));
    QCOMPARE(cache.state.length(), 11);
    QVERIFY2(checkAll(cache.input(true)).empty(), qPrintable(text(checkAll(cache.input(true)))));
    QVERIFY(!cache.plan({Delete{Position(0)}, Add{TokenId(1)}}));  // it holds no row
    QVERIFY(cache.plan({Delete{Position(1)}, Add{TokenId(1)}}));
  }

  void stagingIsSaidApart() {
    CacheFixture cache({.slots = 12, .capacity = 10});
    QVERIFY(cache.add(10));
    QVERIFY(cache.plan(parse("[" REPLACE("[0,1,2,3]", "[1,2,3,4]") "]")));
    const Status done = cache.apply(parse("[" REPLACE("[0,1,2,3]", "[1,2,3,4]") "]"));
    QVERIFY(!done);
    QCOMPARE(done.error().code, std::string("staging"));
  }

  // --- lineage and the captured list ----------------------------------------------------------------
  void capturedList_data() {
    QTest::addColumn<int>("position");
    for (int position = 0; position < 3; ++position) QTest::addRow("position mode %d", position) << position;
  }
  void capturedList() {
    QFETCH(int, position);
    const auto mode = static_cast<PositionMode>(position);
    Options options;
    options.layers = 2;
    options.slots = 1000;
    options.position = mode;
    CacheFixture cache(options);
    cache.rules.vocab = 32000;
    QVERIFY(cache.add(862));
    const Column<LedgerId> before = cache.state.context;
    const auto actions = parse("[" PAIR(48, 49, "[13319]") "," PAIR(61, 62, "[366]") "," ADD(13) "]");
    const EditPlan plan = cache.plan(actions).take();
    QCOMPARE(plan.lengthBefore, 862);
    QCOMPARE(plan.lengthAfter, 861);
    QCOMPARE(values(plan.details[0].newLedger), (Ints{862}));
    QCOMPARE(plan.details[0].finalPosition, Position(48));
    QCOMPARE(plan.details[1].finalPosition, Position(60));
    QCOMPARE(plan.details[2].finalPosition, Position(860));
    QVERIFY(cache.apply(actions));
    const CacheState& state = cache.state;
    QCOMPARE(state.length(), 861);
    const auto tokenAt = [&](std::size_t p) { return state.ledger[state.context[p]].token.value(); };
    QCOMPARE(tokenAt(48), 13319);
    QCOMPARE(tokenAt(60), 366);
    QCOMPARE(tokenAt(860), 13);
    QCOMPARE(values(std::vector{state.context[48], state.context[60], state.context[860]}), (Ints{862, 863, 864}));
    for (std::size_t p = 0; p < 860; ++p)
      if (p != 48 && p != 60) QCOMPARE(state.context[p], before[p < 48 ? p : p < 60 ? p + 1 : p + 2]);
    for (const auto& [child, parents] : {std::pair(862, Ints{48, 49}), {863, Ints{61, 62}}}) {
      QCOMPARE(values(state.ledger[LedgerId(child)].parents), parents);
      QCOMPARE(state.ledger[LedgerId(child)].source, Source::Replacement);
      for (int parent : parents) {
        QCOMPARE(state.ledger[LedgerId(parent)].state, RowState::Replaced);
        QCOMPARE(values(state.ledger[LedgerId(parent)].children), (Ints{child}));
      }
    }
    QCOMPARE(state.ledger[LedgerId(864)].source, Source::Model);
    const bool absolute = mode == PositionMode::Absolute;
    QCOMPARE(state.phases[48], 48);
    QCOMPARE(state.phases[49], absolute ? 50 : 49);
    QCOMPARE(state.phases[60], absolute ? 61 : 60);
    QCOMPARE(state.phases[860], absolute ? 862 : 860);
    QCOMPARE(plan.phaseShifted, absolute ? 0 : 810);
    QCOMPARE(plan.stale, 810);
    QVERIFY2(checkAll(cache.input(true)).empty(), qPrintable(text(checkAll(cache.input(true)))));
  }
};

KV_TEST(PlannerTest)
#include "planner_test.moc"
