// SPDX-License-Identifier: GPL-3.0-or-later
// bench NAME..: figures that no script of `kvlab bench` can take. Its options are those of kvlab bench.
#include <QApplication>
#include <algorithm>
#include <iostream>

#include "app/base/platform.h"
#include "app/base/resources.h"
#include "app/cli/programs.h"
#include "bench/bench.h"

namespace {

using namespace kvlab;

struct Bench {
  std::string name, help;
  RunsBench* run;
  bool cases = false;  // "depth:decode:4096" is one of them
};

const Bench kBenches[] = {
    {"attention", "one query over stored rows, format of K and V against f16: time, bytes, ratios", benchAttention},
    {"bandwidth", "memory read bandwidth, the limit of decoding", benchBandwidth},
    {"depth", "decode and prefill at depth (--model, --dtype), as shares of bandwidth and multiply-add rate",
     benchDepth, true},
    {"edit", "plan and commit of 2 replace_pair + 1 add, per layout, without the new rows' forward pass", benchEdit},
    {"history", "a step back and forward per layout after more and more ticks; a tick with history against one without",
     benchHistory},
    {"map", "painting of the map at 32 layers x 131072 positions, 1200x300 pixels", benchMap},
    {"snapshot", "a snapshot, and a tick while norms of all keys are asked for", benchSnapshot},
    {"storage", "append, edit and read of a full window per layout, with bytes and ratios to contiguous_splice",
     benchStorage},
    {"watches", "a tick with 20 breakpoints, and with 20 watches, against one without", benchWatches},
    {"window", "how long input waits while the engine runs at full speed beside it", benchWindow, true},
};

int run(const CommandLine& line) {
  BenchOptions options;
  options.resources = resourceRoot().toStdString();
  options.threads = line.manifest.value("threads", 0);
  options.quick = line.quick;
  for (const auto& [key, value] : {std::pair{"model", &options.model},
                                   {"dtype", &options.dtype},
                                   {"backend", &options.backend},
                                   {"numerics", &options.numerics},
                                   {"weights", &options.weights}})
    *value = line.manifest.value(key, *value);
  const Progress progress = [](const std::string& what, std::int64_t, std::int64_t total) {
    if (total >= 0 && !what.empty()) std::cerr << "bench: " << what << '\n';
    return true;
  };
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& name : line.names) {
    const std::string own = name.substr(0, name.find(':'));
    const auto bench = std::ranges::find(kBenches, own, &Bench::name);
    if (bench == std::end(kBenches) || (own != name && !bench->cases))
      return refuse({"usage", "benchmark " + name, "no benchmark has that name", "run it without a name for a list"});
    options.only = own == name ? "" : name.substr(own.size() + 1);
    nlohmann::json rows = nlohmann::json::array();
    if (const Status done = bench->run(options, rows, progress); !done) return refuse(done.error());
    printBenchRows(rows);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  const Status written = saveBenchRows(line.jsonFile, all);
  return written ? 0 : refuse(written.error());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words{"bench"};
  words.insert(words.end(), argv + 1, argv + argc);
  const auto line = parseCommandLine(words);
  if (!line) return refuse(line.error());
  if (line->names.empty()) {
    for (const Bench& bench : kBenches) std::cout << bench.name << ": " << bench.help << "\n";
    return 0;
  }
  useOffscreen();
  const QApplication application(argc, argv);
  return checkResources() ? run(*line) : 3;
}
