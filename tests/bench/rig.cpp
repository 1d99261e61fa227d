// SPDX-License-Identifier: Apache-2.0
#include "bench/rig.h"

#include <numeric>
#include <thread>

#include "kernels/thread_pool.h"

namespace kvlab {

double secondsSince(BenchClock::time_point from) {
  return std::chrono::duration<double>(BenchClock::now() - from).count();
}

int threadsOf(const BenchOptions& options) {
  return options.threads ? options.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::vector<double> readBandwidth(int threads, std::size_t bytes, int runs) {
  const std::size_t words = bytes / 8;
  std::vector<std::uint64_t> memory(words);
  std::iota(memory.begin(), memory.end(), std::uint64_t{1});
  kernels::ThreadPool pool(threads);
  std::vector<double> out;
  std::uint64_t sink = 0;
  for (int run = 0; run < runs; ++run) {
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(threads) * 16);
    const auto start = BenchClock::now();
    pool.parallelFor(0, static_cast<std::int64_t>(words), std::int64_t{1} << 18,
                     [&](std::int64_t begin, std::int64_t end, int worker) {
                       std::uint64_t lanes[8] = {};
                       for (std::int64_t i = begin; i + 8 <= end; i += 8)
                         for (int lane = 0; lane < 8; ++lane) lanes[lane] += memory[static_cast<std::size_t>(i + lane)];
                       for (std::uint64_t lane : lanes) sums[static_cast<std::size_t>(worker) * 16] += lane;
                     });
    out.push_back(static_cast<double>(bytes) / secondsSince(start) / 1e9);
    for (std::uint64_t sum : sums) sink += sum;
  }
  return sink == 1 ? std::vector<double>{0} : out;
}

Result<std::unique_ptr<Session>> benchSession(const BenchOptions& options, const std::string& model, bool probes,
                                              int capacity) {
  Manifest manifest = KV_TRY(Manifest::fromJson({{"model", model},
                                                 {"backend", options.backend},
                                                 {"weights", options.weights},
                                                 {"numerics", options.numerics},
                                                 {"threads", threadsOf(options)},
                                                 {"dtype", options.dtype},
                                                 {"probes", probes},
                                                 {"capacity", capacity},
                                                 {"history_bytes", 0},
                                                 {"check", {{"level", probes ? "cheap" : "off"}}}}));
  return openSession(manifest, options.resources);
}

std::vector<std::pair<const char*, int>> tickCases(const BenchOptions& options) {
  if (options.quick) return {{"synthetic:tiny", 64}};
  return {{"demo", 512}, {"synthetic:smollm-135m", 1024}};
}

std::vector<TokenId> benchTokens(int n, int vocab) {
  std::vector<TokenId> out;
  for (int i = 0; i < n; ++i) out.push_back(TokenId((i * 7919 + 13) % vocab));
  return out;
}

Result<std::unique_ptr<kernels::Backend>> benchBackend(const BenchOptions& options) {
  kernels::BackendAnswer answer = kernels::openBackend(options.backend, threadsOf(options));
  if (!answer.backend) return Error("no_backend", "the benchmark did not run", answer.why, "use --backend cpu");
  return std::move(answer.backend);
}

Status failed(const TickReport& report) { return report.ok ? ok() : Status(*report.error); }

}  // namespace kvlab
