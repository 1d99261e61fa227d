// SPDX-License-Identifier: Apache-2.0
// Rows of a table as columns, each in buffers of its type. JSON and Arrow are made of them. Values; any thread.
#pragma once
#include <vector>

#include "core/api/table.h"
#include "core/api/table_cell.h"

namespace kvlab {

/// A column in the buffers that Apache Arrow has for its type; one of them holds the values.
struct TableColumn {
  TableColumn(std::string called, ColumnType of) : name(std::move(called)), type(of) {}
  /// A cell of another type than the column's becomes null.
  void add(const TableCell& cell);
  bool has(std::size_t row) const { return (known[row / 8] >> (row % 8)) & 1; }
  nlohmann::json at(std::size_t row) const;

  std::string name;
  ColumnType type;
  std::size_t rows = 0, nulls = 0;
  std::vector<std::uint8_t> known;     // a bit for each row, low bits first; 0 = null
  std::vector<std::int64_t> integers;  // [rows] Integer
  std::vector<double> numbers;         // [rows] Number
  std::vector<std::uint8_t> flags;     // a bit for each row
  std::string texts;                   // Text: one behind the other
  std::vector<std::int64_t> ends;      // [rows] Text: where each ends
  std::vector<nlohmann::json> values;  // [rows] Value
};

struct TableAnswer {
  std::string table;
  std::int64_t begin = 0, rows = 0;
  std::optional<std::int64_t> next;  // the row with which the rest begins; none = that was all
  std::vector<TableColumn> columns;

  /// The answer of the verb `table`: {"table", "begin", "rows", "next", "columns": {name: [rows]}}
  nlohmann::json toJson() const;
};

}  // namespace kvlab
