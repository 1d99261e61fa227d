// SPDX-License-Identifier: Apache-2.0
#include "core/lists/named_lists.h"

#include <algorithm>

#include "core/lists/lists.h"

namespace kvlab {

using nlohmann::json;

namespace {

/// Names of a list's entries, or the entries themselves.
std::string cell(const json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const json& one : value)
    text += (text.empty() ? "" : ", ") + (one.is_string() ? one.get<std::string>() : one.value("name", std::string()));
  return text;
}

std::string asCode(const std::string& text) {
  std::string out(1, '`');
  return out.append(text).append(1, '`');
}

/// An entry of a list with all its properties: "n: integer 1 .. 9, else 4".
std::string entryText(const json& entry) {
  if (entry.is_string()) return entry.get<std::string>();
  std::string out = asCode(entry.value("name", std::string()));
  if (entry.contains("keys")) out += ": " + asCode(entry["keys"].dump());
  if (const std::string source = entry.value("source", std::string()); !source.empty()) out += " (" + source + ")";
  if (entry.contains("keys")) return out;
  if (entry.contains("type")) out += ": " + entry["type"].get<std::string>();
  if (entry.contains("help")) out += ", " + entry["help"].get<std::string>();
  if (entry.contains("default")) return out + ", else " + entry["default"].dump();
  return entry.value("required", true) ? out : out + ", optional";
}

std::string markdownCell(const json& row, const ListColumn& column, bool first) {
  const json value = row.value(column.field, json());
  std::string text;
  if (value.is_array() && !value.empty())
    for (const json& one : value) text += (text.empty() ? "" : "; ") + entryText(one);
  else if (!value.is_array()) text = cell(value);
  if (first) text = asCode(text);
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.insert(at, 1, '\\');
  return text;
}

}  // namespace

const std::vector<NamedList>& engineLists() {
  static const std::vector<NamedList> kLists = {
      {"policies", listPolicies, {{"id", "Policy"}, {"title", "What it keeps"}, {"presets", "Presets", false}}},
      {"layouts", listLayouts, {{"id", "Layout"}, {"title", "How it stores rows"}}},
      {"bugs", listBugs, {{"id", "Bug"}, {"title", "What goes wrong"}}},
      {"selftests", listSelfTests, {{"id", "Test"}, {"title", "What holds"}}},
      {"importers", listImporters, {{"id", "Importer"}, {"title", "What it reads"}}},
      {"causes", listCauses, {{"id", "Cause"}, {"title", "What is wrong"}}},
      {"tasks", listTasks, {{"id", "Task"}, {"title", "What is asked"}}},
      {"invariants", listInvariants, {{"id", "Invariant"}, {"title", "What holds"}}},
      {"metrics", listMetrics, {{"id", "Metric"}, {"title", "What it measures"}}},
      {"verbs",
       listVerbs,
       {{"id", "Verb"}, {"args", "Arguments"}, {"effect", "Effect"}, {"lanes", "In lanes"}, {"title", "What it does"}}},
      {"tables",
       listTables,
       {{"id", "Table"},
        {"args", "Of what"},
        {"columns", "Columns", false},
        {"effect", "Effect"},
        {"title", "What it has"}}},
      {"facts",
       listFacts,
       {{"id", "Fact"}, {"type", "Value"}, {"keys", "In brackets"}, {"of", "Of"}, {"title", "What it says"}}},
      {"manifest", listManifest, {{"id", "Key"}, {"type", "Type"}, {"default", "Default"}, {"title", "Meaning"}}},
      {"errors", listErrors, {{"id", "Code"}, {"title", "Meaning"}}},
  };
  return kLists;
}

std::string textTable(const NamedList& list, const json& rows) {
  std::vector<std::string> fields;
  for (const ListColumn& column : list.columns)
    if (column.inText) fields.push_back(column.field);
  std::vector<std::size_t> widths(fields.size(), 0);
  for (const json& row : rows)
    for (std::size_t c = 0; c < fields.size(); ++c)
      widths[c] = std::max(widths[c], cell(row.value(fields[c], json())).size());
  std::string out;
  for (const json& row : rows) {
    for (std::size_t c = 0; c < fields.size(); ++c) {
      const std::string text = cell(row.value(fields[c], json()));
      out += text;
      if (c + 1 < fields.size()) out += std::string(widths[c] - text.size() + 2, ' ');
    }
    out += "\n";
  }
  return out;
}

std::string markdownTable(const NamedList& list, const json& rows) {
  std::string out = "|", line = "|";
  for (const ListColumn& column : list.columns) {
    out.append(1, ' ').append(column.title).append(" |");
    line += " --- |";
  }
  out += "\n" + line + "\n";
  for (const json& row : rows) {
    out += "|";
    for (const ListColumn& column : list.columns)
      out.append(1, ' ').append(markdownCell(row, column, &column == &list.columns.front())).append(" |");
    out += "\n";
  }
  return out;
}

}  // namespace kvlab
