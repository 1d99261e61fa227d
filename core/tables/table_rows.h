// SPDX-License-Identifier: Apache-2.0
// Takes the rows of a table one by one, and keeps the columns, the rows and the piece that a call asks for. One per
// call; engine thread.
#pragma once
#include <initializer_list>

#include "core/api/table_answer.h"
#include "core/session/session.h"
#include "core/verbs/verb_args.h"
#include "core/watch/expression.h"

namespace kvlab {

/// True if a condition or a column of a table, as text, asks a fact.
bool asksFacts(const TableInfo& info, const std::string& text);

class TableRows {
 public:
  using Cells = std::initializer_list<TableCell>;

  /// Reads columns, condition and piece of a call of the verb `table`. Errors: bad_argument, bad_condition.
  static Result<TableRows> make(const Session& session, const TableInfo& info, VerbArgs& in);

  /// True if a column or the condition asks for the cell: costly cells are computed only then.
  bool wants(std::string_view column) const;
  /// True if a column or the condition asks facts: rows then need the state that the facts are about.
  bool asksFacts() const { return m_facts; }
  bool needs(Need need) const;
  void setSight(Sight at) { m_sight = std::move(at); }
  /// Adds a row, its cells in the order of the table's columns, unless the call does not ask for it. True if the row
  /// passes the condition.
  bool add(Cells cells);
  /// The same of a commit that facts are about.
  bool add(Cells cells, Sight at);
  /// The same of a token: facts of rows, and of the layer if one is given, are asked of setSight() and about it.
  bool add(Cells cells, LedgerId row, std::optional<Layer> layer = {});
  /// A row whose cells are the members of an object; those that are missing are null.
  bool addRecord(const nlohmann::json& record);
  /// No further row is taken.
  bool full() const { return m_full; }
  /// The rows so far, which move into it.
  TableAnswer answer();

 private:
  /// A column of the table, or an expression in the place of one.
  struct Wanted {
    std::size_t column = 0;
    std::optional<Expression> expression = {};
  };
  explicit TableRows(const TableInfo& info) : m_info(&info) {}
  void want(std::size_t column);
  Status want(const Session& session, const nlohmann::json& column);
  Result<Expression> expression(const Session& session, const std::string& text, bool condition) const;
  /// Facts are about the row and the layer, where they are given.
  bool take(const Sight& at, std::optional<LedgerId> row = {}, std::optional<Layer> layer = {});
  bool takeSeen(std::span<const TableCell> cells, std::optional<LedgerId> row = {}, std::optional<Layer> layer = {});

  const TableInfo* m_info;
  std::vector<Wanted> m_wanted;
  std::vector<TableColumn> m_columns;  // of m_wanted
  std::optional<Expression> m_where;
  Sight m_sight;
  std::int64_t m_begin = 0, m_limit = 0, m_passed = 0, m_rows = 0;
  bool m_facts = false, m_full = false;
};

}  // namespace kvlab
