// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab perplexity: progress on standard error, figures on standard output. Exit codes: 0 = measured, 1 = stopped, 2 =
// command line, 3 = model, text or file refused.
#include <chrono>
#include <cstdio>

#include "app/cli/programs.h"
#include "app/plain/resources.h"
#include "core/experiment/perplexity.h"

namespace kvlab {

namespace {

using Clock = std::chrono::steady_clock;

/// Once a second: tokens, tokens/s, seconds left.
Progress tellScored() {
  const auto begin = Clock::now();
  auto last = std::make_shared<Clock::time_point>(begin);
  return [=](const std::string& unit, std::int64_t done, std::int64_t total) {
    const auto now = Clock::now();
    if (now - *last < std::chrono::seconds(1) || done == 0) return !interrupted();
    *last = now;
    const double seconds = std::chrono::duration<double>(now - begin).count(),
                 rate = static_cast<double>(done) / seconds;
    std::fprintf(stderr, "kvlab: %s %lld/%lld, %.1f tokens/s, %.0f s left\n", unit.c_str(),
                 static_cast<long long>(done), static_cast<long long>(total), rate,
                 static_cast<double>(total - done) / rate);
    return !interrupted();
  };
}

void printFigures(const Perplexity& result) {
  std::printf("model        %s (%s)\n", result.model.c_str(), result.numerics.c_str());
  std::printf("tokens       %zu, %lld of them scored in %lld windows of %d, %d apart%s\n", result.ids.size(),
              static_cast<long long>(result.scored), static_cast<long long>(result.windows), result.context,
              result.stride, result.each ? ", one by one" : "");
  std::printf("NLL          %.4f +- %.4f nats a token\n", result.nll, result.error);
  std::printf("perplexity   %.3f\n", result.perplexity);
  std::printf("speed        %.1f tokens/s\n", static_cast<double>(result.ids.size()) / result.seconds);
}

}  // namespace

Ending runPerplexity(const CommandLine& line) {
  watchInterrupts();
  const PerplexityOrder order{line.manifest, resourceRoot(), line.file, line.context, line.stride, line.rows};
  const Perplexity result = KV_TRY(perplexity(order, tellScored()));
  if (!line.printsJson()) printFigures(result);
  return toJson(result);
}

}  // namespace kvlab
