// SPDX-License-Identifier: Apache-2.0
#include "core/tables/table_rows.h"

#include <algorithm>

#include "core/api/json_values.h"
#include "core/api/read_json.h"
#include "core/session/observe.h"

namespace kvlab {
namespace {

using nlohmann::json;

ValueType valueType(ColumnType type) {
  return type == ColumnType::Text ? ValueType::Text : type == ColumnType::Flag ? ValueType::Flag : ValueType::Number;
}

/// The names that a condition can use for a table's row.
std::vector<CellName> cellNames(const TableInfo& info) {
  std::vector<CellName> out;
  for (std::size_t i = 0; i < info.columns.size(); ++i)
    if (info.columns[i].type != ColumnType::Value)
      out.push_back({info.columns[i].name, valueType(info.columns[i].type), i});
  return out;
}

json cellOf(const WatchValue& value) {
  if (const double* number = std::get_if<double>(&value)) return finite(*number);
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  return std::get<std::string>(value);
}

std::string columnNames(const TableInfo& info) {
  std::string out;
  for (const ColumnInfo& one : info.columns) out += (out.empty() ? "" : ", ") + one.name;
  return out;
}

}  // namespace

bool asksFacts(const TableInfo& info, const std::string& text) {
  if (text.empty() || std::ranges::find(info.columns, text, &ColumnInfo::name) != info.columns.end()) return false;
  const std::vector<CellName> cells = cellNames(info);
  const Result<Expression> read = Expression::parse(text, cells);
  return read && read->asksFacts();
}

Result<TableRows> TableRows::make(const Session& session, const TableInfo& info, VerbArgs& in) {
  TableRows out(info);
  if (in.has("columns")) {
    for (const json& column : in.raw("columns")) KV_TRY(out.want(session, column));
  } else {
    for (std::size_t i = 0; i < info.columns.size(); ++i) out.m_wanted.push_back({info.columns[i].name, i});
  }
  if (in.has("where")) out.m_where = KV_TRY(out.expression(session, in.text("where"), true));
  out.m_begin = in.integer("begin");
  out.m_limit = in.integer("limit");
  out.m_facts = (out.m_where && out.m_where->asksFacts()) || std::ranges::any_of(out.m_wanted, [](const Wanted& one) {
                  return one.expression && one.expression->asksFacts();
                });
  return out;
}

Status TableRows::want(const Session& session, const json& column) {
  const auto refused = [&](const std::string& why) {
    return Error("bad_argument", m_info->name + " was refused", why, "its columns are " + columnNames(*m_info),
                 std::nullopt, "columns", column);
  };
  if (!column.is_string()) return refused("columns holds something that is not a text");
  const auto& text = column.get_ref<const std::string&>();
  const auto found = std::ranges::find(m_info->columns, text, &ColumnInfo::name);
  if (found != m_info->columns.end()) {
    m_wanted.push_back({text, static_cast<std::size_t>(found - m_info->columns.begin())});
    return ok();
  }
  Result<Expression> read = expression(session, text, false);
  if (!read) return refused("\"" + text + "\" is no column of it, and as an expression: " + read.error().why);
  m_wanted.push_back({text, 0, read.take()});
  return ok();
}

Result<Expression> TableRows::expression(const Session& session, const std::string& text, bool condition) const {
  const std::vector<CellName> cells = cellNames(*m_info);
  Result<Expression> read = condition ? Expression::condition(text, cells) : Expression::parse(text, cells);
  Status fitting = read ? fits(session, *read) : ok();
  if (read && fitting && read->needs(Need::Stage))
    fitting = Error("bad_condition", "the expression was refused",
                    "stage(..) holds inside a tick, and a table has states", "leave stage(..) out");
  if (read && fitting && !(read->asksFacts() && m_info->facts == FactsIn::None)) return read;
  Error error = !read ? read.error()
      : !fitting      ? fitting.error()
                      : Error("bad_condition", "the expression was refused",
                              "the table " + m_info->name + " has its columns alone, no facts",
                              "its columns are " + columnNames(*m_info));
  error.field = condition ? "where" : "columns";
  error.value = text;
  return error;
}

bool TableRows::wants(std::string_view column) const {
  const auto found = std::ranges::find(m_info->columns, column, &ColumnInfo::name);
  const auto place = static_cast<std::size_t>(found - m_info->columns.begin());
  return (m_where && m_where->asksCell(place)) || std::ranges::any_of(m_wanted, [&](const Wanted& one) {
           return one.expression ? one.expression->asksCell(place) : one.column == place;
         });
}

bool TableRows::needs(Need need) const {
  return (m_where && m_where->needs(need)) ||
      std::ranges::any_of(m_wanted, [&](const Wanted& one) { return one.expression && one.expression->needs(need); });
}

bool TableRows::add(Cells cells, const Sight& at) { return take(std::span(cells.begin(), cells.size()), at); }

bool TableRows::add(Cells cells, LedgerId row, std::optional<Layer> layer) {
  return take(std::span(cells.begin(), cells.size()), m_sight, row, layer);
}

bool TableRows::addRecord(const json& record) {
  std::vector<json> cells;
  for (const ColumnInfo& column : m_info->columns) cells.push_back(member(record, column.name));
  return take(cells, {});
}

bool TableRows::take(std::span<const json> cells, Sight at, std::optional<LedgerId> row, std::optional<Layer> layer) {
  at.cells = cells;
  const auto valueOf = [&](const Expression& one) {
    return row && one.asksFacts() ? one.about(*row, layer).value(at) : one.value(at);
  };
  if (m_where && !std::get<bool>(valueOf(*m_where))) return false;
  if (m_passed++ < m_begin) return true;
  m_full = m_rows == m_limit;
  if (m_full) return true;
  ++m_rows;
  for (Wanted& one : m_wanted)
    one.cells.push_back(one.expression ? cellOf(valueOf(*one.expression)) : at.cells[one.column]);
  return true;
}

json TableRows::answer() const {
  json columns = json::object();
  for (const Wanted& one : m_wanted) columns[one.name] = one.cells;
  return {{"table", m_info->name},
          {"begin", m_begin},
          {"rows", m_rows},
          {"next", m_full ? json(m_begin + m_rows) : json()},
          {"columns", std::move(columns)}};
}

}  // namespace kvlab
