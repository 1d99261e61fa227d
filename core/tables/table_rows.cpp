// SPDX-License-Identifier: Apache-2.0
#include "core/tables/table_rows.h"

#include <algorithm>

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

ColumnType columnType(ValueType type) {
  return type == ValueType::Text ? ColumnType::Text : type == ValueType::Flag ? ColumnType::Flag : ColumnType::Number;
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
    for (std::size_t i = 0; i < info.columns.size(); ++i) out.want(i);
  }
  if (in.has("where")) out.m_where = KV_TRY(out.expression(session, in.text("where"), true));
  out.m_begin = in.integer("begin");
  out.m_limit = in.integer("limit");
  out.m_facts = (out.m_where && out.m_where->asksFacts()) || std::ranges::any_of(out.m_wanted, [](const Wanted& one) {
                  return one.expression && one.expression->asksFacts();
                });
  return out;
}

void TableRows::want(std::size_t column) {
  m_columns.emplace_back(m_info->columns[column].name, m_info->columns[column].type);
  m_wanted.push_back({column});
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
    want(static_cast<std::size_t>(found - m_info->columns.begin()));
    return ok();
  }
  Result<Expression> read = expression(session, text, false);
  if (!read) return refused("\"" + text + "\" is no column of it, and as an expression: " + read.error().why);
  m_columns.emplace_back(text, columnType(read->type()));
  m_wanted.push_back({0, read.take()});
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

bool TableRows::add(Cells cells) { return takeSeen(std::span(cells.begin(), cells.size())); }

bool TableRows::add(Cells cells, Sight at) {
  at.cells = std::span(cells.begin(), cells.size());
  return take(at);
}

bool TableRows::add(Cells cells, LedgerId row, std::optional<Layer> layer) {
  return takeSeen(std::span(cells.begin(), cells.size()), row, layer);
}

bool TableRows::addRecord(const json& record) {
  std::vector<TableCell> cells;
  for (const ColumnInfo& column : m_info->columns) cells.emplace_back(member(record, column.name));
  return takeSeen(cells);
}

/// Facts are asked of m_sight, which sees the cells while this runs.
bool TableRows::takeSeen(std::span<const TableCell> cells, std::optional<LedgerId> row, std::optional<Layer> layer) {
  m_sight.cells = cells;
  const bool passed = take(m_sight, row, layer);
  m_sight.cells = {};
  return passed;
}

bool TableRows::take(const Sight& at, std::optional<LedgerId> row, std::optional<Layer> layer) {
  const auto valueOf = [&](const Expression& one) {
    return row && one.asksFacts() ? one.about(*row, layer).value(at) : one.value(at);
  };
  if (m_where && !std::get<bool>(valueOf(*m_where))) return false;
  if (m_passed++ < m_begin) return true;
  m_full = m_rows == m_limit;
  if (m_full) return true;
  ++m_rows;
  for (std::size_t i = 0; i < m_wanted.size(); ++i) {
    if (!m_wanted[i].expression) m_columns[i].add(at.cells[m_wanted[i].column]);
    else std::visit([&](const auto& value) { m_columns[i].add(value); }, valueOf(*m_wanted[i].expression));
  }
  return true;
}

TableAnswer TableRows::answer() {
  return {m_info->name, m_begin, m_rows, m_full ? std::optional(m_begin + m_rows) : std::nullopt, std::move(m_columns)};
}

}  // namespace kvlab
