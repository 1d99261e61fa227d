// SPDX-License-Identifier: Apache-2.0
// Sweeps of tests: a specification that must be right, the options of a run into a folder, and what it wrote.
#pragma once
#include <QtGlobal>
#include <fstream>
#include <iterator>
#include <string>

#include "core/experiment/sweep_runner.h"

namespace kvlab::test {

inline SweepSpec parsedSweep(const nlohmann::json& given) {
  Result<SweepSpec> spec = SweepSpec::fromJson(given);
  if (!spec) qFatal("%s", spec.error().text().c_str());
  return spec.take();
}

inline std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline SweepOptions into(const std::string& out, int jobs = 1, bool resume = false) {
  SweepOptions options;
  options.out = out;
  options.resources = KVLAB_RESOURCES_DIR;
  options.jobs = jobs;
  options.resume = resume;
  return options;
}

}  // namespace kvlab::test
