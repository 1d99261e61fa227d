// SPDX-License-Identifier: Apache-2.0
// The tables of a session, and the verb that answers with rows of one. Engine thread.
#pragma once
#include <span>

#include "core/tables/table_rows.h"

namespace kvlab {

using ReadsTable = Status (*)(const Session& session, VerbArgs& of, TableRows& out);
using MeasuresTable = Status (*)(Session& session, VerbArgs& of, TableRows& out);

/// Bound of ticks in arguments.
inline constexpr std::int64_t kMostTickAsked = std::int64_t{1} << 40;

/// One table. `reads` answers where no fact is asked, or where those of the present state suffice; `measures` may take
/// the session through its history, and waits until no verb runs.
struct TableSource {
  TableInfo info;
  ReadsTable reads = nullptr;
  MeasuresTable measures = nullptr;
};

/// All tables, in the order of the list.
std::span<const TableInfo> tables();
/// Null if there is none of the name.
const TableInfo* tableNamed(std::string_view name);
/// The answer of the verb `table`, whose arguments these are, as columns. Errors: those of the verb.
Result<TableAnswer> tableColumns(Session& session, const nlohmann::json& args);

// The parts of the list.
std::span<const TableSource> rowTables();       // rows, ledger
std::span<const TableSource> tickTables();      // state, ticks, branches, edits
std::span<const TableSource> storyTables();     // the story of one row
std::span<const TableSource> decisionTables();  // of policies
std::span<const TableSource> noteTables();      // settings of a person, and the choices
std::span<const TableSource> measureTables();   // invariants, next tokens

}  // namespace kvlab
