// SPDX-License-Identifier: GPL-3.0-or-later
#include <cstdio>
#include <iostream>

#include "app/command_registry.h"
#include "app/core_lists.h"
#include "app/programs.h"
#include "app/resources.h"
#include "widgets/base/view_registry.h"

namespace kvlab {

using nlohmann::json;

namespace {

json listViews() {
  json list = json::array();
  for (const ViewInfo& view : views()) list.push_back({{"id", view.id}, {"title", view.title}, {"help", view.help}});
  return list;
}

json listCommands() {
  json list = json::array();
  for (const Command& command : builtinCommands(viewNames())) list.push_back(toJson(command));
  return list;
}

json listed(const std::string& what) {
  if (what == "views") return listViews();
  if (what == "commands") return listCommands();
  if (what == "invariants") return listInvariants();
  if (what == "layouts") return listLayouts();
  return what == "policies" ? listPolicies() : listMetrics();
}

std::string cell(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const json& one : value)
    text += (text.empty() ? "" : ", ") + (one.is_string() ? one.get<std::string>() : one.value("name", std::string()));
  return text;
}

/// Columns padded to their widest cell; the last is free.
void printTable(const json& rows, const std::vector<std::string>& columns) {
  std::vector<std::size_t> widths(columns.size(), 0);
  for (const json& row : rows)
    for (std::size_t c = 0; c < columns.size(); ++c)
      widths[c] = std::max(widths[c], cell(row.value(columns[c], json(""))).size());
  for (const json& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string text = cell(row.value(columns[c], json("")));
      line += text;
      if (c + 1 < columns.size()) line += std::string(widths[c] - text.size() + 2, ' ');
    }
    std::cout << line << "\n";
  }
}

std::string mebibytes(const json& bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", bytes.get<double>() / 1048576.0);
  return text;
}

void printModel(const json& m) {
  const auto line = [](const char* name, const std::string& value) { std::printf("%-12s %s\n", name, value.c_str()); };
  line("model", cell(m["model"]) + " (" + cell(m["architecture"]) + ")");
  line("parameters",
       cell(m["parameters"]) + ", " + cell(m["dtype"]) +
           (m["weights"] == m["dtype"] ? "" : " with matrices in " + cell(m["weights"])) + ", " +
           mebibytes(m["weight_bytes"]));
  line("shape",
       cell(m["layers"]) + " layers, " + cell(m["heads"]) + " query and " + cell(m["kv_heads"]) + " KV heads of " +
           cell(m["head_dim"]) + ", width " + cell(m["hidden"]));
  line("vocabulary", cell(m["vocabulary"]));
  line("positions", cell(m["positions"]) + (m["window"] == 0 ? "" : ", window " + cell(m["window"])));
  line("KV cache",
       mebibytes(m["kv_bytes"]) + " for " + cell(m["capacity"]) + " rows per layer (" + cell(m["row_bytes"]) +
           " bytes a row and layer)");
}

}  // namespace

int printList(const CommandLine& line) {
  const json list = listed(line.list);
  if (line.json) std::cout << list.dump(2) << "\n";
  else if (line.list == "commands") printTable(list, {"id", "keys", "args", "help"});
  else if (line.list == "views") printTable(list, {"id", "title", "help"});
  else printTable(list, {"id", "title"});
  return static_cast<int>(Exit::Ok);
}

int printInfo(const CommandLine& line) {
  const auto model = describeModel(line.manifest, resourceRoot().toStdString());
  if (!model) {
    std::cerr << errorLine(model.error()) << std::endl;
    return static_cast<int>(exitFor(model.error()));
  }
  json backends = listBackends();
  for (json& backend : backends) backend["numerics"] = listNumerics(backend["id"]);
  if (line.json) {
    std::cout << json{{"model", *model}, {"backends", backends}}.dump(2) << "\n";
    return static_cast<int>(Exit::Ok);
  }
  printModel(*model);
  const auto row = [](const std::string& name, const json& one, const json& text) {
    std::printf("%-12s %s%s\n", name.c_str(),
                one["available"].get<bool>() ? "" : "not available: ", cell(text).c_str());
  };
  for (const json& backend : backends) {
    row("backend " + cell(backend["id"]), backend, backend["why"]);
    for (const json& numerics : backend["numerics"])
      row("  numerics", numerics,
          numerics["available"].get<bool>() ? cell(numerics["id"])
                                            : cell(numerics["id"]) + ": " + cell(numerics["why"]));
  }
  return static_cast<int>(Exit::Ok);
}

}  // namespace kvlab
