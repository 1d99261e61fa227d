// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/core_sweep.h"

#include <filesystem>

#include "core/experiment/sweep_runner.h"

namespace kvlab {

namespace {

Result<SweepOutcome> start(const Result<SweepSpec>& spec, SweepOptions& options) {
  if (!spec) return spec.error();
  if (options.out.empty()) options.out = spec->name + ".sweep";
  return runSweep(*spec, options);
}

}  // namespace

Result<SweepOutcome> sweepFile(const std::string& path, SweepOptions& options) {
  options.folder = std::filesystem::path(path).parent_path().string();
  return start(readSweepSpec(path), options);
}

Result<SweepOutcome> sweepJson(const nlohmann::json& spec, SweepOptions& options) {
  return start(SweepSpec::fromJson(spec), options);
}

}  // namespace kvlab
