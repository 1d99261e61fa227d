// SPDX-License-Identifier: GPL-3.0-or-later
// bench [NAME..]: figures that no script of `kvlab bench` can take. Its options are those of kvlab bench.
#include <QApplication>
#include <iostream>

#include "app/base/application.h"
#include "app/cli/programs.h"
#include "app/plain/resources.h"
#include "bench/bench.h"

void kvlab::say(const std::string& what) { std::cerr << "bench: " << what << std::endl; }

namespace {

using namespace kvlab;

struct Bench {
  std::string name;
  RunsBench* run;
  bool cases = false;  // "depth:decode:4096" is one of them
};

const Bench kBenches[] = {
    {"attention", benchAttention}, {"bandwidth", benchBandwidth}, {"depth", benchDepth, true},
    {"edit", benchEdit},           {"history", benchHistory},     {"map", benchMap},
    {"snapshot", benchSnapshot},   {"storage", benchStorage},     {"watches", benchWatches},
    {"window", benchWindow, true},
};

/// The bench of a name, and the case that is wanted alone.
Result<std::pair<Bench, std::string>> named(const std::string& name) {
  const std::string own = name.substr(0, name.find(':'));
  std::string known;
  for (const Bench& bench : kBenches) {
    if (bench.name == own && (own == name || bench.cases))
      return std::pair(bench, own == name ? "" : name.substr(own.size() + 1));
    known += (known.empty() ? "" : ", ") + bench.name;
  }
  return Error("usage", "benchmark " + name, "no benchmark has that name", "name some of: " + known);
}

Ending run(const CommandLine& line) {
  const KeptOutput kept(line.printsJson());
  KV_TRY(checkResources());
  BenchOptions options;
  options.resources = resourceRoot();
  options.threads = line.manifest.value("threads", 0);
  options.quick = line.quick;
  for (const auto& [key, value] : {std::pair{"model", &options.model},
                                   {"dtype", &options.dtype},
                                   {"backend", &options.backend},
                                   {"numerics", &options.numerics},
                                   {"weights", &options.weights}})
    *value = line.manifest.value(key, *value);
  std::vector<std::string> names = line.names;
  if (names.empty())
    for (const Bench& bench : kBenches) names.push_back(bench.name);
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& name : names) {
    const auto [bench, only] = KV_TRY(named(name));
    options.only = only;
    say(name);
    nlohmann::json rows = nlohmann::json::array();
    KV_TRY(bench.run(options, rows));
    printBenchRows(rows);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return benchJson(all);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words{"bench"};
  words.insert(words.end(), argv + 1, argv + argc);
  const auto line = parseCommandLine(words);
  if (!line) return finish(line.error(), jsonAsked(words));
  if (line->verb != "bench") return std::cout << line->text, 0;
  useOffscreen();
  const QApplication application(argc, argv);
  return finish(run(*line), line->json);
}
