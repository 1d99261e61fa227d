// SPDX-License-Identifier: Apache-2.0
#include "core/python/sweeps.h"

#include <atomic>
#include <future>

namespace kvlab::python {

Result<SweepOutcome> runSweep(const nlohmann::json& given, SweepOptions& options, Interrupts& interrupts) {
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> done{0}, total{0};
  options.stopped = [&] { return stop.load(); };
  options.progress = [&](const SweepProgress& now) {
    done = now.done, total = now.total;
    return !stop;
  };
  return guarded("the sweep was not run", [&] {
    std::future<Result<SweepOutcome>> work =
        std::async(std::launch::async, [&] { return kvlab::runSweep(given, options); });
    while (work.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
      if (!interrupts.goOn("cells", done, total)) stop = true;
    return work.get();
  });
}

}  // namespace kvlab::python
