// SPDX-License-Identifier: Apache-2.0
// Tables: the lists that a session offers, as data. The verb `table` answers with rows of one table: the call names the
// columns, a condition and the number of rows. Columns have types, so that scripts, Arrow and files are loops over the
// schema. The tables stand in core/tables. Values; any thread.
#pragma once
#include "core/api/verb.h"

namespace kvlab {

enum class ColumnType : std::uint8_t { Integer, Number, Text, Flag, Value };  // Value: any JSON; no condition asks it

/// A column; every cell may be null, which means not known, or not applicable.
struct ColumnInfo {
  std::string name;
  ColumnType type = ColumnType::Integer;
  std::string help;  // meaning of the value, with its unit
};

/// The meaning of facts of the expression language (core/watch/facts.h) in conditions and columns of a table.
enum class FactsIn : std::uint8_t {
  None,    // the table has its columns alone
  Tokens,  // facts of rows mean the token of the table's row
  Rows,    // and facts of layers of the table's layer
  Ticks,   // facts mean the commit of the table's row
};

struct TableInfo {
  std::string name;
  std::vector<ArgInfo> args;  // arguments of the question, in script order
  std::vector<ColumnInfo> columns;
  std::string help;  // one sentence
  Effect effect = Effect::Reads;
  FactsIn facts = FactsIn::None;
};

/// All that a session can be told and asked.
struct Schema {
  std::vector<VerbInfo> verbs;
  std::vector<TableInfo> tables;
};

/// "integer", "number", ...
const char* name(ColumnType type);

/// Rows of one answer, unless the call says otherwise; a longer table comes in pieces.
inline constexpr std::int64_t kMostTableRows = std::int64_t{1} << 17;

/// Arguments of the verb `table`: all columns of the rows that `of` names.
nlohmann::json tableArgs(const std::string& table, nlohmann::json of = nlohmann::json::object(),
                         nlohmann::json columns = nullptr);
/// Cells of a column of an answer of the verb; empty for anything else.
const nlohmann::json& cellsIn(const nlohmann::json& answer, const std::string& column);
/// Rows of an answer of the verb, each as an object; empty for anything else.
nlohmann::json recordsOf(const nlohmann::json& answer);

}  // namespace kvlab
