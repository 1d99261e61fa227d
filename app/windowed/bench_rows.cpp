// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/windowed/bench_rows.h"

#include <algorithm>
#include <cstdio>

#include "core/lists/lists.h"

namespace kvlab {

using nlohmann::json;

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 1e6 || (value != 0 && value < 1e-3) ? "%.3g" : "%.4g", value);
  return text;
}

}  // namespace

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
