// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab bench: progress on standard error, a table on standard output, JSON in a file.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "app/base/resources.h"
#include "app/cli/map_bench.h"
#include "app/cli/programs.h"
#include "app/cli/window_bench.h"
#include "app/engine/core_lists.h"
#include "core/experiment/bench.h"
#include "widgets/base/save_file.h"

namespace kvlab {

using nlohmann::json;

namespace {

std::vector<Bench> allBenches() {
  std::vector<Bench> all(benches().begin(), benches().end());
  all.push_back({"map", "repaint of the map at 32 layers x 131072 positions, 1200x300 pixels", &benchMap});
  all.push_back({"window", "how long input waits while the engine runs at full speed beside it", &benchWindow});
  return all;
}

/// A bench, and the case of it that is wanted alone: "depth:decode:4096".
struct Wanted {
  Bench bench;
  std::string only;
};

Result<std::vector<Wanted>> chosen(const std::vector<std::string>& names) {
  const std::vector<Bench> all = allBenches();
  std::vector<Wanted> list;
  for (const Bench& bench : all)
    if (names.empty()) list.push_back({bench, ""});
  std::string known;
  for (const Bench& bench : all) known += (known.empty() ? "" : ", ") + std::string(bench.name);
  for (const std::string& name : names) {
    const std::string own = name.substr(0, name.find(':'));
    const auto same = [&](const Bench& bench) { return bench.name == own; };
    const auto found = std::find_if(all.begin(), all.end(), same);
    if (found == all.end())
      return Error("usage", "benchmark " + name, "no benchmark has that name", "name some of: " + known);
    if (own != name && own != "depth" && own != "window")
      return Error("usage", "benchmark " + name, "its cases cannot be chosen", "name " + own + " alone");
    list.push_back({*found, own == name ? "" : name.substr(own.size() + 1)});
  }
  return list;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 1e6 || (value != 0 && value < 1e-3) ? "%.3g" : "%.4g", value);
  return text;
}

void printRow(const json& row) {
  std::printf("%-10s %-44s %-20s %12s %-8s %s..%s (%lld)\n", row.value("bench", "").c_str(),
              row.value("case", "").c_str(), row.value("metric", "").c_str(), number(row.value("median", 0.0)).c_str(),
              row.value("unit", "").c_str(), number(row.value("min", 0.0)).c_str(),
              number(row.value("max", 0.0)).c_str(), row.value("runs", 0LL));
}

Status writeFile(const std::string& path, const json& content) {
  return saveFile(QString::fromStdString(path), QByteArray::fromStdString(content.dump(2) + "\n"), path);
}

}  // namespace

int runBench(const CommandLine& line) {
  const auto list = chosen(line.names);
  if (!list) return refuse(list.error());
  BenchOptions options;
  options.resources = resourceRoot().toStdString();
  options.threads = line.manifest.value("threads", 0);
  options.quick = line.quick;
  options.model = line.manifest.value("model", "");
  options.dtype = line.manifest.value("dtype", "");
  options.backend = line.manifest.value("backend", "cpu");
  options.numerics = line.manifest.value("numerics", "");
  options.weights = line.manifest.value("weights", "");
  const Progress progress = [](const std::string& what, std::int64_t done, std::int64_t total) {
    if (total < 0 || what.empty()) return true;
    std::cerr << "kvlab: " << what;
    if (total > 0) std::cerr << ' ' << done << '/' << total;
    std::cerr << '\n';
    return true;
  };
  json rows = json::array();
  for (const auto& [bench, only] : *list) {
    options.only = only;
    std::cerr << "kvlab: bench " << bench.name << ": " << bench.help << std::endl;
    const std::size_t before = rows.size();
    if (const Status done = bench.run(options, rows, progress); !done) return refuse(done.error());
    for (std::size_t i = before; i < rows.size(); ++i) printRow(rows[i]);
    std::fflush(stdout);
  }
  if (line.jsonFile.empty()) return static_cast<int>(Exit::Ok);
  const Status written =
      writeFile(line.jsonFile, {{"version", KVLAB_VERSION}, {"backends", listBackends()}, {"rows", rows}});
  return written ? static_cast<int>(Exit::Ok) : refuse(written.error());
}

}  // namespace kvlab
