// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/bench.h"

#include <algorithm>

namespace kvlab {

#define KVLAB_BENCH(function, name, help) \
  Status function(const BenchOptions& options, nlohmann::json& rows, const Progress& progress);
#include "core/experiment/benches.inc"
#undef KVLAB_BENCH

std::span<const Bench> benches() {
  static constexpr Bench kBenches[] = {
#define KVLAB_BENCH(function, name, help) {name, help, function},
#include "core/experiment/benches.inc"
#undef KVLAB_BENCH
  };
  return kBenches;
}

nlohmann::json benchRow(std::string_view bench, const std::string& what, std::string_view metric, std::string_view unit,
                        std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {{"bench", bench},
          {"case", what},
          {"metric", metric},
          {"unit", unit},
          {"median", samples[samples.size() / 2]},
          {"min", samples.front()},
          {"max", samples.back()},
          {"runs", samples.size()}};
}

}  // namespace kvlab
