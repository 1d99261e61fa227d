// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab check: the self-tests on a model; a line for each on standard output, progress on standard error. Exit codes: 0
// = every test passed or was skipped, 1 = one failed or the run was stopped, 2 = command line, 3 = model, text or file
// refused.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "app/cli/programs.h"
#include "app/plain/resources.h"
#include "app/plain/scratch_folder.h"
#include "core/api/json_values.h"
#include "core/selftest/self_test.h"

namespace kvlab {

namespace {

std::string figureOf(const SelfTestResult& one) {
  if (one.outcome == SelfTestOutcome::Skipped) return "-";
  return numberWords(one.figure.figure, 3) + " of " + numberWords(one.figure.limit, 3);
}

void printResult(const SelfTestResult& one) {
  static constexpr const char* kWords[] = {"passed", "FAILED", "skipped"};
  std::printf("%-14s %-7s %-18s %7.1f s  %s%s%s\n", one.id.c_str(), kWords[static_cast<std::size_t>(one.outcome)],
              figureOf(one).c_str(), one.seconds, one.title.c_str(), one.figure.says.empty() ? "" : ": ",
              one.figure.says.c_str());
  std::fflush(stdout);
}

/// Says on a terminal or in a pipe which test runs, and how far a long one is.
bool tellTest(const std::string& what, std::int64_t done, std::int64_t all) {
  if (all > 0)
    std::fprintf(stderr, "kvlab: check %s %lld/%lld\n", what.c_str(), static_cast<long long>(done),
                 static_cast<long long>(all));
  return !interrupted();
}

}  // namespace

Ending runCheck(const CommandLine& line) {
  watchInterrupts();
  const ScratchFolder folder;
  const auto results = KV_TRY(
      runSelfTests({line.manifest, resourceRoot(), folder.path(), line.file, line.names, tellTest}, printResult));
  nlohmann::json all = {{"model", line.manifest.value("model", "demo")}, {"tests", nlohmann::json::array()}};
  for (const SelfTestResult& one : results) all["tests"].push_back(toJson(one));
  const auto failed = std::ranges::count(results, SelfTestOutcome::Failed, &SelfTestResult::outcome);
  std::printf("%zu tests, %lld failed\n", results.size(), static_cast<long long>(failed));
  return {all, failed ? Exit::Failed : Exit::Ok};
}

}  // namespace kvlab
