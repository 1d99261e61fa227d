// SPDX-License-Identifier: Apache-2.0
// Memory read bandwidth, the limit of decoding.
#include "bench/rig.h"

namespace kvlab {

Status benchBandwidth(const BenchOptions& options, nlohmann::json& rows) {
  const std::size_t bytes = options.quick ? std::size_t{1} << 26 : std::size_t{1} << 30;
  for (int threads : {1, threadsOf(options)})
    rows.push_back(benchRow("bandwidth", std::to_string(threads) + " threads", "read", "GB/s",
                            readBandwidth(threads, bytes, options.quick ? 3 : 9)));
  return ok();
}

}  // namespace kvlab
