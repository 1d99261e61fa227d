// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab bench: runs scripts of resources/bench. Progress on standard error, a table on standard output.
// Each script has a window of its own, which stays hidden: its views do nothing beside the engine.
#include <QTemporaryDir>
#include <algorithm>
#include <iostream>

#include "app/cli/lists.h"
#include "app/plain/resources.h"
#include "app/window/main_window.h"
#include "app/windowed/bench_rows.h"
#include "app/windowed/windowed.h"
#include "core/api/guarded.h"

namespace kvlab {

using nlohmann::json;

namespace {

/// The entries of `kvlab list benches` that are wanted.
Result<json> chosen(const std::vector<std::string>& names) {
  const json all = listNamed("benches")->rows();
  if (names.empty()) return all;
  std::string known;
  for (const json& bench : all) known += (known.empty() ? "" : ", ") + bench["id"].get<std::string>();
  json list = json::array();
  for (const std::string& name : names) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const json& bench) { return bench["id"] == name; });
    if (found == all.end())
      return Error("usage", "benchmark " + name, "no benchmark has that name", "name some of: " + known);
    list.push_back(*found);
  }
  return list;
}

/// The figures of one script, which calls bench.row for each (resources/bench/parts/rig.js).
Result<json> measured(const CommandLine& line, LogRelay& log, const std::string& name) {
  const QTemporaryDir scratch;  // for files that scripts write; nobody asked for them
  MainWindow window(windowSettings(line, true));
  QObject::connect(&log, &LogRelay::line, &window.context(), &InspectorContext::logged);
  ScriptSettings settings = scriptSettings(line);
  settings.args = {line.quick ? "quick" : "", QString::fromStdString(line.manifest.value("model", ""))};
  settings.out = scratch.path();
  settings.log = [](const QString& text) { std::cerr << "kvlab: " << text.toStdString() << std::endl; };
  ScriptHost host(window, settings);
  const QString folder = QString::fromStdString(resourceRoot() + "/bench/");
  ScriptResult result = host.runFile(folder + "parts/rig.js");
  if (!result.failed) result = host.runFile(folder + QString::fromStdString(name) + ".js");
  if (!result.failed) result = host.runText("return bench.rows", "bench");
  if (result.failed && result.error.code == "script_error")
    return Error("script_error", "benchmark " + name, result.message().toStdString(), "report this");
  if (result.failed) return result.error;
  return guarded("benchmark " + name + " was stopped", [&]() -> Result<json> {
    json rows = json::array();
    for (const json& row : json::parse(result.text.toStdString()))
      rows.push_back(benchRow(name, row.at("case"), row.at("metric").get<std::string>(),
                              row.at("unit").get<std::string>(), row.at("samples")));
    return rows;
  });
}

}  // namespace

Ending runBench(const CommandLine& line, LogRelay& log) {
  const json list = KV_TRY(chosen(line.names));
  json all = json::array();
  for (const json& bench : list) {
    const auto name = bench["id"].get<std::string>();
    std::cerr << "kvlab: bench " << name << ": " << bench["title"].get<std::string>() << std::endl;
    const json rows = KV_TRY(measured(line, log, name));
    printBenchRows(rows);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return benchJson(all);
}

}  // namespace kvlab
