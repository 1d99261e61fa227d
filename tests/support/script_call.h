// SPDX-License-Identifier: Apache-2.0
// The request of a script's method to a session: a verb, rows of a table, or a part of a table. prelude.js of
// app/script has the same names. It includes no headers of core with names that clash with Qt's macros.
#pragma once
#include <functional>

#include "core/api/error.h"
#include "core/api/table.h"

namespace kvlab {
const TableInfo* tableNamed(std::string_view name);  // core/tables/tables.h
}

namespace kvlab::test {

using Execute = std::function<Result<nlohmann::json>(const std::string& verb, const nlohmann::json& args)>;

/// A call of the verb `table` with a table's own arguments and those of the verb side by side.
inline nlohmann::json tableCall(const TableInfo& table, const nlohmann::json& given) {
  nlohmann::json call = tableArgs(table.name);
  if (!given.is_null() && !given.is_object()) call["of"] = given;
  if (given.is_object())
    for (const auto& [key, value] : given.items()) {
      const bool own = std::ranges::find(table.args, key, &ArgInfo::name) != table.args.end();
      const bool shapes = key == "columns" || key == "where" || key == "begin" || key == "limit";
      (own || !shapes ? call["of"] : call)[key] = value;
    }
  return call;
}

/// The call that answers a script's method, and the result that the method makes of the answer.
struct ScriptCall {
  std::string verb;
  nlohmann::json args;
  std::function<nlohmann::json(const nlohmann::json& answer)> read;
};

inline ScriptCall scriptCall(const std::string& name, const nlohmann::json& given) {
  using nlohmann::json;
  const auto all = [](const json& answer) { return recordsOf(answer); };
  const auto cells = [](const char* column) {
    return [column](const json& answer) { return cellsIn(answer, column); };
  };
  const auto first = [](const char* column) {
    return [column](const json& answer) {
      const json& found = cellsIn(answer, column);
      return found.empty() ? json() : found.front();
    };
  };
  const json args = given.is_null() ? json::object() : given;
  const json condition = args.is_object() ? args.value("condition", json()) : json();
  for (const ColumnInfo& column : tableNamed("state")->columns)
    if (column.name == (name == "position" ? "length" : name))
      return {"table", tableArgs("state", json::object(), {column.name}), first(column.name.c_str())};
  if (name == "tokens") return {"table", tableArgs("ledger", {{"live", true}}, {"tokenId"}), cells("tokenId")};
  if (name == "pos2ledger" && !args.empty()) return {"table", tableArgs("rows", args, {"ledger"}), cells("ledger")};
  if (name == "pos2ledger") return {"table", tableArgs("ledger", {{"live", true}}, {"id"}), cells("id")};
  json ticks = tableArgs("ticks", json::object(), {"tick"}), rows = tableArgs("ledger", {{"live", true}}, {"id"});
  ticks["where"] = rows["where"] = condition;
  if (name == "rowsWhere") return {"table", rows, cells("id")};
  if (name == "ticksWhere") {
    ticks["of"]["since"] = args.value("since", json(0));
    return {"table", ticks, [](const json& answer) {
              json out = json::array();
              for (const json& tick : cellsIn(answer, "tick"))
                if (out.empty() || out.back() != tick) out.push_back(tick);
              return out;
            }};
  }
  ticks["limit"] = 1;
  if (name == "firstTick") return {"table", ticks, first("tick")};
  if (name == "lastTick") {
    ticks["of"]["newest"] = true;
    ticks["where"] = "not present and (" + condition.get<std::string>() + ")";
    return {"table", ticks, first("tick")};
  }
  if ((name == "at" || name == "lane" || name == "sequence") && args.contains("verb") && args["verb"].is_string()) {
    ScriptCall inner = scriptCall(args["verb"], args.value("args", json()));
    json outer = args;
    outer["verb"] = inner.verb;
    if (!inner.args.is_null()) outer["args"] = inner.args;
    return {name, outer, inner.read};
  }
  const TableInfo* table = tableNamed(name);
  if (!table) return {name, given, [](const json& answer) { return answer; }};
  const bool one = name == "ledger" && args.is_object() && args.contains("id");
  return {"table", tableCall(*table, args),
          [one, all](const json& answer) { return one ? all(answer).at(0) : all(answer); }};
}

inline Result<nlohmann::json> scripted(const Execute& run, const std::string& name,
                                       const nlohmann::json& given = nullptr) {
  const ScriptCall call = scriptCall(name, given);
  const Result<nlohmann::json> answer = run(call.verb, call.args);
  return answer ? Result<nlohmann::json>(call.read(*answer)) : answer;
}

}  // namespace kvlab::test
