// SPDX-License-Identifier: Apache-2.0
#include "core/api/table_answer.h"

namespace kvlab {
namespace {

using nlohmann::json;

/// Appends a bit to a list of bits.
void addBit(std::vector<std::uint8_t>& bits, std::size_t place, bool on) {
  if (place % 8 == 0) bits.push_back(0);
  bits.back() = static_cast<std::uint8_t>(bits.back() | (on ? 1u << (place % 8) : 0u));
}

/// Appends the value, or `otherwise` in its place; true if there is one.
template <class T>
bool addOr(std::vector<T>& values, const std::optional<T>& value, T otherwise) {
  values.push_back(value.value_or(otherwise));
  return value.has_value();
}

json cellsOf(const TableColumn& column) {
  json out = json::array();
  for (std::size_t i = 0; i < column.rows; ++i) out.push_back(column.at(i));
  return out;
}

}  // namespace

void TableColumn::add(const TableCell& cell) {
  bool there = false;
  switch (type) {
    case ColumnType::Integer: there = addOr(integers, cell.integer(), std::int64_t{0}); break;
    case ColumnType::Number: there = addOr(numbers, cell.number(), 0.0); break;
    case ColumnType::Flag:
      there = cell.flag().has_value();
      addBit(flags, rows, cell.flag().value_or(false));
      break;
    case ColumnType::Text:
      there = cell.text().has_value();
      texts += cell.text().value_or(std::string_view());
      ends.push_back(static_cast<std::int64_t>(texts.size()));
      break;
    case ColumnType::Value:
      there = !cell.null();
      values.push_back(cell.json());
      break;
  }
  addBit(known, rows, there);
  ++rows;
  nulls += !there;
}

json TableColumn::at(std::size_t row) const {
  if (!has(row)) return nullptr;
  switch (type) {
    case ColumnType::Integer: return integers[row];
    case ColumnType::Number: return numbers[row];
    case ColumnType::Flag: return ((flags[row / 8] >> (row % 8)) & 1) != 0;
    case ColumnType::Value: return values[row];
    case ColumnType::Text: break;
  }
  const auto begin = static_cast<std::size_t>(row ? ends[row - 1] : 0);
  return texts.substr(begin, static_cast<std::size_t>(ends[row]) - begin);
}

json TableAnswer::toJson() const {
  json cells = json::object();
  for (const TableColumn& one : columns) cells[one.name] = cellsOf(one);
  return {{"table", table},
          {"begin", begin},
          {"rows", rows},
          {"next", next ? json(*next) : json()},
          {"columns", std::move(cells)}};
}

}  // namespace kvlab
