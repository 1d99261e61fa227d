// SPDX-License-Identifier: Apache-2.0
// Parts that the benches of the engine share: a clock, the read bandwidth beside a measurement, a session
// without probes, arbitrary tokens. Any thread; one at a time.
#pragma once
#include <chrono>

#include "bench/bench.h"
#include "core/verbs/verbs.h"

namespace kvlab {

using BenchClock = std::chrono::steady_clock;

double secondsSince(BenchClock::time_point from);
int threadsOf(const BenchOptions& options);

/// GB/s of reading `bytes` once with all threads: the sum of 64-bit words. One sample per run.
std::vector<double> readBandwidth(int threads, std::size_t bytes, int runs);

/// A session without history; probes off means checks off, too.
Result<std::unique_ptr<Session>> benchSession(const BenchOptions& options, const std::string& model, bool probes,
                                              int capacity);

/// Models and depths of the benches about a tick.
std::vector<std::pair<const char*, int>> tickCases(const BenchOptions& options);
std::vector<TokenId> benchTokens(int n, int vocab);
/// The back end of a bench without a session. Error: no_backend.
Result<std::unique_ptr<kernels::Backend>> benchBackend(const BenchOptions& options);
/// The error of a tick that failed.
Status failed(const TickReport& report);

}  // namespace kvlab
