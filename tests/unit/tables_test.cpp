// SPDX-License-Identifier: Apache-2.0
// Tables: cells have their column's type, pieces make the whole, conditions choose the same rows as a walk over all
// rows, and facts of a row equal those of an expression with brackets.
#include "support/session_fixture.h"

#include "core/lanes/session_holder.h"
#include "core/model/decoder/sampler.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

/// A session with edits, evictions, notes and breakpoints behind it.
SessionFixture lively() {
  SessionFixture s(json{{"policy", "h2o:capacity=20,window=6"}, {"layout", "paged:block=8"}});
  s.prompt(24);
  s.must("inject",
         {{"actions", {{{"action", "replace"}, {"positions", {7}}, {"new_token_ids", {33}}}}}, {"now", true}});
  s.must("step", {{"n", 3}});
  s.must("setBrightness", {{"ledger", 3}, {"value", 40}});
  s.must("pin", {{"ledger", 5}});
  s.must("note", {{"text", "here"}, {"layer", 1}});
  s.must("break", {{"condition", "kl > 0.5"}});
  s.must("watch", {{"expression", "length"}});
  s.must("step", {{"n", 2}});
  return s;
}

/// The arguments with which a table is asked.
json about(const TableInfo& table) {
  json of = json::object();
  for (const ArgInfo& arg : table.args)
    if (!arg.optional) of[arg.name] = arg.name == "layer" ? 1 : 4;
  return of;
}

template <class T>
T takenFrom(Result<T> result) {
  if (!result) qFatal("%s", result.error().text().c_str());
  return result.take();
}

json answerOf(const SessionFixture& s, json call) { return s.must("table", call); }

bool fitsColumn(const json& cell, ColumnType type) {
  switch (type) {
    case ColumnType::Integer: return cell.is_null() || cell.is_number_integer();
    case ColumnType::Number: return cell.is_null() || cell.is_number();
    case ColumnType::Text: return cell.is_null() || cell.is_string();
    case ColumnType::Flag: return cell.is_null() || cell.is_boolean();
    case ColumnType::Value: return true;
  }
  return false;
}

}  // namespace

class TablesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void cellsHaveTheTypesOfTheirColumns() {
    const SessionFixture s = lively();
    for (const TableInfo& table : tables()) {
      const json answer = answerOf(s, tableArgs(table.name, about(table)));
      QVERIFY2(answer["rows"] > 0 && answer["next"].is_null(), table.name.c_str());
      QCOMPARE(answer["columns"].size(), table.columns.size());
      for (const ColumnInfo& column : table.columns) {
        const json& cells = answer["columns"][column.name];
        QCOMPARE(json(cells.size()), answer["rows"]);
        for (const json& cell : cells)
          QVERIFY2(fitsColumn(cell, column.type), (table.name + " " + column.name + " " + cell.dump()).c_str());
        QVERIFY2(!column.help.empty(), column.name.c_str());
      }
    }
  }

  /// One list of cells stands behind JSON and typed buffers.
  void columnsAreTheAnswer() {
    const SessionFixture s = lively();
    for (const TableInfo& table : tables()) {
      const json call = tableArgs(table.name, about(table));
      Result<TableAnswer> columns = tableColumns(*s, call);
      QVERIFY2(bool(columns), table.name.c_str());
      QCOMPARE(columns->toJson(), answerOf(s, call));
      for (const TableColumn& one : columns->columns) {
        std::size_t nulls = 0;
        for (std::size_t i = 0; i < one.rows; ++i) nulls += one.at(i).is_null();
        QCOMPARE(one.nulls, nulls);
        QCOMPARE(one.known.size(), (one.rows + 7) / 8);
        QCOMPARE(one.integers.size() + one.numbers.size() + one.ends.size() + one.values.size() + 8 * one.flags.size(),
                 one.type == ColumnType::Flag ? 8 * one.known.size() : one.rows);
      }
    }
    json call = tableArgs("ledger", json::object(), {"id * 2", "text", "pinned or id == 0"});
    call["where"] = "state == 'replaced' or pinned";
    QCOMPARE(tableColumns(*s, call)->toJson()["columns"]["id * 2"], (json{10.0, 14.0}));
    QCOMPARE(tableColumns(*s, call)->columns[2].type, ColumnType::Flag);
    QCOMPARE(tableColumns(*s, tableArgs("lunch")).error().code, std::string("bad_argument"));
    QCOMPARE(tableColumns(*s, tableArgs("rows", {{"layer", 99}})).error().code, std::string("bad_argument"));
  }

  /// The session that a question is about.
  void whereabouts() {
    SessionFixture s = lively();
    const int ticks = static_cast<int>(s->state().tick.value());
    SessionHolder one(takenFrom(s->fork()));
    QCOMPARE(takenFrom(one.sessionOf({})), one.session());
    QCOMPARE(takenFrom(one.sessionOf({.tick = Tick(2)}))->state().tick, Tick(2));
    QCOMPARE(one.sessionOf({.member = 0}).error().code, std::string("no_lanes"));
    QCOMPARE(one.sessionOf({.tick = Tick(ticks + 1)}).error().code, std::string("out_of_range"));
    takenFrom(one.execute("lanesOpen", {{"lanes", {{{"kv", {{"k", "int8"}, {"v", "int8"}}}}}}}));
    QCOMPARE(one.sessionOf({}).error().code, std::string("in_lockstep"));
    QCOMPARE(one.sessionOf({.member = 2}).error().code, std::string("bad_argument"));
    QVERIFY(takenFrom(one.sessionOf({.member = 1})) != takenFrom(one.sessionOf({.member = 0})));
    takenFrom(one.execute("lanesClose", json::object()));
    takenFrom(one.execute("batchOpen", {{"size", 2}}));
    takenFrom(one.execute("batchRelease", {{"sequence", 0}}));
    QCOMPARE(one.sessionOf({.member = 0}).error().code, std::string("bad_argument"));
    QCOMPARE(takenFrom(one.sessionOf({.member = 1}))->state().tick.value(), std::int64_t{ticks});
  }

  void piecesMakeTheWhole() {
    const SessionFixture s = lively();
    for (const char* name : {"rows", "ledger", "ticks", "facts"}) {
      json call = tableArgs(name, about(*tableNamed(name)));
      const json whole = recordsOf(answerOf(s, call));
      json parts = json::array(), next = 0;
      for (call["limit"] = 3; !next.is_null();) {
        call["begin"] = next;
        const json piece = answerOf(s, call);
        QVERIFY(piece["rows"] <= 3 && piece["begin"] == next);
        for (const json& row : recordsOf(piece)) parts.push_back(row);
        next = piece["next"];
      }
      QCOMPARE(parts, whole);
      call["begin"] = 9999;
      QCOMPARE(answerOf(s, call)["rows"], json(0));
    }
  }

  void conditionsChooseByCells() {
    const SessionFixture s = lively();
    json call = tableArgs("rows", {{"layer", 2}});
    const json all = recordsOf(answerOf(s, call));
    call["where"] = "brightness > 3 and index % 2 == 0 and exactness != 'exact'";
    json wanted = json::array();
    for (const json& row : all)
      if (row["brightness"] > 3 && row["index"].get<int>() % 2 == 0 && row["exactness"] != "exact")
        wanted.push_back(row);
    QVERIFY(!wanted.empty() && wanted.size() < all.size());
    QCOMPARE(recordsOf(answerOf(s, call)), wanted);
    QCOMPARE(s.must("ledger", {{"where", "state == 'replaced' or pinned"}, {"columns", {"id"}}}),
             json::array({{{"id", 5}}, {{"id", 7}}}));
    QCOMPARE(s.must("ledger", {{"live", true}, {"columns", {"id"}}}).size(), at(s->state().length()));
  }

  /// A fact of a row without brackets equals the same fact with brackets for the row in its layer.
  void factsSpeakOfTheRow() {
    const SessionFixture s = lively();
    int asked = 0;
    for (const char* fact : {"read", "moved", "written", "evicted", "changed", "rows", "replaced"}) {
      const Fact& known = *findFact(fact);
      for (const int layer : {0, 2}) {
        const json rows = recordsOf(answerOf(s, tableArgs("rows", {{"layer", layer}}, {"ledger", fact})));
        QVERIFY(!rows.empty());
        for (const json& row : rows) {
          std::string brackets = known.takes(Key::ByLayer) ? "layer==" + std::to_string(layer) : "";
          if (known.takes(Key::ByLedger))
            brackets += (brackets.empty() ? "" : ", ") + std::string("ledger==") + row["ledger"].dump();
          const std::string text = std::string(fact) + "(" + brackets + ")";
          const json told = s.must("value", {{"expression", text}});
          QVERIFY2(row[fact] == told, (text + ": " + told.dump() + ", in the table " + row[fact].dump()).c_str());
          asked += told.is_boolean() ? told.get<bool>() : !told.is_null();
        }
      }
    }
    QVERIFY(asked > 60);
  }

  void commitsHaveTheirFacts() {
    SessionFixture s;
    s.prompt(12);
    std::vector<double> wanted;
    for (int i = 0; i < 6; ++i) {
      const std::vector<float> logits = s.must("logits").get<std::vector<float>>();
      const json reports = s.must("step", {{"tokens", {40 + i}}});
      wanted.push_back(negativeLogLikelihood(logits, TokenId(40 + i)));
    }
    json call = tableArgs("ticks", {{"since", 2}}, {"token", "surprise", "length - before(length)"});
    const json found = recordsOf(answerOf(s, call));
    QCOMPARE(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      QCOMPARE(found[i]["token"], json(40 + static_cast<int>(i)));
      QCOMPARE(found[i]["surprise"].get<double>(), wanted[i]);
      QCOMPARE(found[i]["length - before(length)"], json(1.0));
    }
    call["of"]["newest"] = true;
    call["limit"] = 2;
    const json newest = recordsOf(answerOf(s, call));
    QVERIFY(newest.size() == 2 && newest[0] == found[5] && newest[1] == found[4]);
  }

  void effects() {
    const auto effect = [](const json& call) { return *effectOf("table", call); };
    QCOMPARE(effect(tableArgs("rows", {{"layer", 0}})), Effect::Reads);
    json call = tableArgs("rows", {{"layer", 0}}, {"index", "kl"});
    QCOMPARE(effect(call), Effect::Measures);
    call = tableArgs("ticks");
    QCOMPARE(effect(call), Effect::Reads);
    call["where"] = "tick > 3 and not kept";
    QCOMPARE(effect(call), Effect::Reads);
    call["where"] = "tick > 3 and error";
    QCOMPARE(effect(call), Effect::Measures);
    QCOMPARE(effect(tableArgs("story", {{"ledger", 1}, {"layer", 0}})), Effect::Measures);
    QVERIFY(!effectOf("lunch", nullptr));
  }

  void refusals() {
    const SessionFixture s = lively();
    const auto refused = [&](json call, const char* code, const char* field) {
      const Result<json> answer = execute(*s, "table", call);
      return !answer && answer.error().code == code && answer.error().field == field && !answer.error().remedy.empty();
    };
    QVERIFY(refused(tableArgs("lunch"), "bad_argument", "name"));
    QVERIFY(refused(tableArgs("rows"), "bad_argument", "layer"));
    QVERIFY(refused(tableArgs("rows", {{"layer", 99}}), "bad_argument", "layer"));
    QVERIFY(refused(tableArgs("notes", {}, {"lunch"}), "bad_argument", "columns"));
    json call = tableArgs("notes");
    call["where"] = "kl > 0";
    QVERIFY(refused(call, "bad_condition", "where"));  // notes have no facts
    call["where"] = "text";
    QVERIFY(refused(call, "bad_condition", "where"));
    call = tableArgs("ledger");
    call["where"] = "parents == 3";
    QVERIFY(refused(call, "bad_condition", "where"));
    call["where"] = "stage(plan)";
    QVERIFY(refused(call, "bad_condition", "where"));
  }
};

KV_TEST(TablesTest)
#include "tables_test.moc"
