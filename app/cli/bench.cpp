// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/bench.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "app/plain/bench_scripts.h"
#include "core/api/guarded.h"
#include "core/lists/lists.h"

namespace kvlab {

using nlohmann::json;

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 1e6 || (value != 0 && value < 1e-3) ? "%.3g" : "%.4g", value);
  return text;
}

/// The benchmarks that are wanted.
Result<json> chosen(const std::vector<std::string>& names) {
  const json all = listBenches();
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

Result<json> measured(const std::string& name, const BenchMeasure& measure) {
  const Result<std::string> text = measure(name);
  if (!text && text.error().code == "script_error")
    return Error("script_error", "benchmark " + name, text.error().what, "report this");
  if (!text) return text.error();
  return guarded("benchmark " + name + " was stopped", [&]() -> Result<json> {
    json rows = json::array();
    for (const json& row : json::parse(*text))
      rows.push_back(benchRow(name, row.at("case"), row.at("metric").get<std::string>(),
                              row.at("unit").get<std::string>(), row.at("samples")));
    return rows;
  });
}

}  // namespace

Ending runBenches(const CommandLine& line, const BenchMeasure& measure) {
  const json list = KV_TRY(chosen(line.names));
  json all = json::array();
  for (const json& bench : list) {
    const auto name = bench["id"].get<std::string>();
    std::cerr << "kvlab: bench " << name << ": " << bench["title"].get<std::string>() << std::endl;
    const json rows = KV_TRY(measured(name, measure));
    printBenchRows(rows);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return benchJson(all);
}

json benchRow(std::string_view bench, const std::string& what, std::string_view metric, std::string_view unit,
              std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {{"bench", bench},
          {"case", what},
          {"metric", metric},
          {"unit", unit},
          {"median", samples.at(samples.size() / 2)},
          {"p95", samples[(samples.size() * 95 + 99) / 100 - 1]},
          {"min", samples.front()},
          {"max", samples.back()},
          {"runs", samples.size()}};
}

void printBenchRows(const json& rows) {
  for (const json& row : rows)
    std::printf("%-10s %-44s %-20s %12s %-8s %s..%s..%s (%lld)\n", row.value("bench", "").c_str(),
                row.value("case", "").c_str(), row.value("metric", "").c_str(),
                number(row.value("median", 0.0)).c_str(), row.value("unit", "").c_str(),
                number(row.value("min", 0.0)).c_str(), number(row.value("p95", 0.0)).c_str(),
                number(row.value("max", 0.0)).c_str(), row.value("runs", 0LL));
  std::fflush(stdout);
}

json benchJson(const json& rows) {
  return {{"version", KVLAB_VERSION}, {"backends", listBackends(false)}, {"rows", rows}};
}

}  // namespace kvlab
