// SPDX-License-Identifier: Apache-2.0
// Bandwidth, prefill, decode and the price of watching a tick.
#include <numeric>
#include <thread>

#include "core/experiment/bench.h"
#include "core/session/verbs.h"
#include "kernels/thread_pool.h"

namespace kvlab {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

int threadsOf(const BenchOptions& options) {
  return options.threads ? options.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

/// GB/s of reading `bytes` once with all threads: the sum of 64-bit words.
std::vector<double> readBandwidth(int threads, std::size_t bytes, int runs) {
  const std::size_t words = bytes / 8;
  std::vector<std::uint64_t> memory(words);
  std::iota(memory.begin(), memory.end(), std::uint64_t{1});
  kernels::ThreadPool pool(threads);
  std::vector<double> out;
  std::uint64_t sink = 0;
  for (int run = 0; run < runs; ++run) {
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(threads) * 16);
    const auto start = Clock::now();
    pool.parallelFor(0, static_cast<std::int64_t>(words), std::int64_t{1} << 18, [&](std::int64_t begin, std::int64_t end, int worker) {
      std::uint64_t lanes[8] = {};
      for (std::int64_t i = begin; i + 8 <= end; i += 8)
        for (int lane = 0; lane < 8; ++lane) lanes[lane] += memory[static_cast<std::size_t>(i + lane)];
      for (std::uint64_t lane : lanes) sums[static_cast<std::size_t>(worker) * 16] += lane;
    });
    out.push_back(static_cast<double>(bytes) / seconds(start) / 1e9);
    for (std::uint64_t sum : sums) sink += sum;
  }
  return sink == 1 ? std::vector<double>{0} : out;
}

Result<std::unique_ptr<Session>> sessionFor(const BenchOptions& options, const std::string& model, bool probes, int capacity) {
  Result<Manifest> manifest = Manifest::fromJson({{"model", model}, {"threads", threadsOf(options)}, {"probes", probes}, {"capacity", capacity},
                                                  {"history_bytes", 0}, {"check", {{"level", probes ? "cheap" : "off"}}}});
  if (!manifest) return manifest.error();
  return openSession(*manifest, options.resources);
}

std::vector<TokenId> tokens(int n, int vocab) {
  std::vector<TokenId> out;
  for (int i = 0; i < n; ++i) out.push_back(TokenId((i * 7919 + 13) % vocab));
  return out;
}

Status failed(const TickReport& report) { return report.ok ? ok() : Status(*report.error); }

}  // namespace

Status benchBandwidth(const BenchOptions& options, nlohmann::json& rows, const Progress&) {
  const std::size_t bytes = options.quick ? std::size_t{1} << 26 : std::size_t{1} << 30;
  for (int threads : {1, threadsOf(options)})
    rows.push_back(benchRow("bandwidth", std::to_string(threads) + " threads", "read", "GB/s", readBandwidth(threads, bytes, options.quick ? 3 : 9)));
  return ok();
}

Status benchGenerate(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  struct Case {
    const char* model;
    int prompt, decode;
  };
  const std::vector<Case> cases = options.quick ? std::vector<Case>{{"synthetic:tiny", 64, 4}}
                                                : std::vector<Case>{{"demo", 512, 64}, {"synthetic:smollm-135m", 512, 16}, {"synthetic:tinyllama-1.1b", 128, 8}};
  for (const Case& c : cases) {
    if (!report(progress, std::string("generate: ") + c.model, 0, 0)) return Error{"cancelled", "the benchmark was cancelled", "on request", "run it again"};
    Result<std::unique_ptr<Session>> session = sessionFor(options, c.model, false, 2048);
    if (!session) return session.error();
    Session& s = **session;
    std::vector<double> prefill, decode, share, bandwidth;  // taken in turns: a shared machine's bandwidth comes and goes
    for (int run = 0; run < 3; ++run) {
      for (double read : readBandwidth(threadsOf(options), options.quick ? 1 << 26 : 1 << 30, 3)) bandwidth.push_back(read);
      if (Status done = s.reset(); !done) return done;
      const auto start = Clock::now();
      if (Status done = failed(s.append(tokens(c.prompt, s.model().config().vocab), Source::Prompt)); !done) return done;
      prefill.push_back(c.prompt / seconds(start));
      for (int i = 0; i < c.decode; ++i) {
        const auto tick = Clock::now();
        if (Status done = failed(s.step()); !done) return done;
        const double took = seconds(tick);
        decode.push_back(1 / took);
        const double bytes = static_cast<double>(s.model().weightBytes()) + static_cast<double>(s.snapshot()->bytes.live);
        share.push_back(bytes / took / 1e9);
      }
    }
    const std::string what = std::string(c.model) + ", " + kernels::dtypeName(s.model().dtype()) + ", depth " + std::to_string(c.prompt);
    for (double& each : share) each /= *std::max_element(bandwidth.begin(), bandwidth.end());
    rows.push_back(benchRow("generate", what, "prefill", "tokens/s", prefill));
    rows.push_back(benchRow("generate", what, "decode", "tokens/s", decode));
    rows.push_back(benchRow("generate", what, "decode_share_of_bandwidth", "x", share));
  }
  return ok();
}

Status benchTick(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  const std::vector<std::pair<const char*, int>> cases = options.quick ? std::vector<std::pair<const char*, int>>{{"synthetic:tiny", 64}}
                                                                       : std::vector<std::pair<const char*, int>>{{"demo", 512}, {"synthetic:smollm-135m", 1024}};
  for (const auto& [model, depth] : cases) {
    if (!report(progress, std::string("tick: ") + model, 0, 0)) return Error{"cancelled", "the benchmark was cancelled", "on request", "run it again"};
    std::unique_ptr<Session> sides[2];
    for (int on = 0; on < 2; ++on) {
      Result<std::unique_ptr<Session>> session = sessionFor(options, model, on == 1, 4096);
      if (!session) return session.error();
      sides[on] = session.take();
      if (Status done = failed(sides[on]->append(tokens(depth, sides[on]->model().config().vocab), Source::Prompt)); !done) return done;
    }
    std::vector<double> us[2], ratio, publish;
    const int runs = options.quick ? 5 : 101;
    for (int run = 0; run < runs; ++run) {
      double pair[2];
      for (int on = 0; on < 2; ++on) {
        const auto start = Clock::now();
        if (Status done = failed(sides[on]->step(TokenId(5))); !done) return done;
        us[on].push_back(pair[on] = seconds(start) * 1e6);
      }
      ratio.push_back(pair[1] / pair[0]);
      const auto start = Clock::now();
      sides[1]->clearPending();  // publishes a snapshot and does nothing else
      publish.push_back(seconds(start) * 1e6);
    }
    const std::string what = std::string(model) + ", depth " + std::to_string(depth);
    rows.push_back(benchRow("tick", what, "probes_off", "us", us[0]));
    rows.push_back(benchRow("tick", what, "probes_on", "us", us[1]));
    rows.push_back(benchRow("tick", what, "probes_ratio", "x", ratio));
    rows.push_back(benchRow("tick", what, "snapshot", "us", publish));
  }
  return ok();
}

}  // namespace kvlab
