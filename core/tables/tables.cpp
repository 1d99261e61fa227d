// SPDX-License-Identifier: Apache-2.0
#include "core/tables/tables.h"

#include <algorithm>

#include "core/api/guarded.h"
#include "core/api/read_json.h"
#include "core/api/texts.h"
#include "core/session/call_mark.h"
#include "core/session/observe.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

std::span<const TableSource> allSources() {
  static const std::vector<TableSource> kAll = [] {
    std::vector<TableSource> all;
    for (const std::span<const TableSource> part :
         {rowTables(), tickTables(), storyTables(), decisionTables(), noteTables(), measureTables()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return kAll;
}

const TableSource* sourceNamed(std::string_view name) {
  const auto found = std::ranges::find_if(allSources(), [&](const TableSource& one) { return one.info.name == name; });
  return found == allSources().end() ? nullptr : &*found;
}

std::vector<ArgInfo> tableVerbArgs() {
  return {arg::text("name", namesOf(tables())),
          arg::of("of", ArgType::Object).orElse(json::object()),
          arg::of("columns", ArgType::List, 1).orNone().as("string[]"),
          arg::text("where").orNone(),
          arg::integer("begin", 0, kMostId).orElse(0),
          arg::integer("limit", 1, kMostTableRows).orElse(kMostTableRows)};
}

Error completed(const TableSource& source, const Error& error) {
  return VerbArgs::completed(error, source.info.name, source.info.args);
}

/// Fills the rows that a call asks for with `make`.
template <class Make>
Result<TableAnswer> tableAnswer(const Session& session, VerbArgs& in, const Make& make) {
  const TableSource& source = *sourceNamed(in.text("name"));
  const json none = json::object();
  VerbArgs of(source.info.args, in.has("of") ? in.raw("of") : none);
  if (of.error()) return completed(source, *of.error());
  TableRows out = KV_TRY(TableRows::make(session, source.info, in));
  const Status made = make(source, of, out);
  if (of.error()) return completed(source, *of.error());
  return made ? Result<TableAnswer>(out.answer()) : completed(source, made.error());
}

Result<TableAnswer> readTable(const Session& session, VerbArgs& in) {
  return tableAnswer(session, in, [&](const TableSource& source, VerbArgs& of, TableRows& out) {
    return source.reads(session, of, out);
  });
}

Result<TableAnswer> measureTable(Session& session, VerbArgs& in) {
  return tableAnswer(session, in, [&](const TableSource& source, VerbArgs& of, TableRows& out) {
    if (source.measures) return source.measures(session, of, out);
    out.setSight(sightNow(session, [&](Need need) { return out.needs(need); }));
    return source.reads(session, of, out);
  });
}

/// The effect of a call whose arguments were not checked yet.
Effect tableEffect(const json& args) {
  const TableSource* source = sourceNamed(memberOr(args, "name", std::string()));
  if (!source) return Effect::Reads;
  std::vector<std::string> texts{memberOr(args, "where", std::string())};
  for (const json& one : member(args, "columns")) texts.push_back(jsonOr(one, std::string()));
  const bool facts = source->info.facts != FactsIn::None &&
      std::ranges::any_of(texts, [&](const std::string& text) { return asksFacts(source->info, text); });
  return source->reads && !facts ? Effect::Reads : Effect::Measures;
}

Result<json> jsonOf(Result<TableAnswer> answer) {
  if (!answer) return answer.error();
  return answer->toJson();
}

}  // namespace

Result<TableAnswer> tableColumns(Session& session, const json& args) {
  return guarded("the call was refused", [&]() -> Result<TableAnswer> {
    const VerbInfo& verb = *verbNamed("table");
    VerbArgs in(verb.args, args);
    if (in.error()) return VerbArgs::completed(*in.error(), verb.name, verb.args);
    if (tableEffect(args) == Effect::Reads) return readTable(session, in);
    CallMark before(session, CallMark::Of::Call);
    try {
      return measureTable(session, in);
    } catch (...) {
      return before.takenBack("the call was refused");
    }
  });
}

std::span<const TableInfo> tables() {
  static const std::vector<TableInfo> kAll = [] {
    std::vector<TableInfo> all;
    for (const TableSource& one : allSources()) all.push_back(one.info);
    return all;
  }();
  return kAll;
}

const TableInfo* tableNamed(std::string_view name) {
  const TableSource* source = sourceNamed(name);
  return source ? &source->info : nullptr;
}

std::span<const Verb> tableVerbs() {
  static const Verb kVerbs[] = {
      {verb::measures(
           "table", tableVerbArgs(),
           "Gives rows of a table of the session, as columns: of what, which columns, where a condition holds, from "
           "which row on and how many; next tells where the rest begins. Each table is also a method, which gives its "
           "rows as objects: rows(0, { where: \"score > 1\" }). Columns and condition may ask facts of the expression "
           "language, where the table has them: rows(0, { columns: [\"ledger\", \"read\"], where: \"moved\" }).",
           "TableAnswer"),
       LooksOrRuns{[](const Session& session, VerbArgs& in) { return jsonOf(readTable(session, in)); },
                   [](Session& session, VerbArgs& in) { return jsonOf(measureTable(session, in)); }, tableEffect}},
  };
  return kVerbs;
}

}  // namespace kvlab
