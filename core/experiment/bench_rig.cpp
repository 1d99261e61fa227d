// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/bench_rig.h"

#include <cstring>
#include <numeric>
#include <thread>

#include "core/model/counter_random.h"
#include "core/model/files/safetensors.h"
#include "kernels/scalar_convert.h"
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

std::vector<TokenId> benchTokens(int n, int vocab) {
  std::vector<TokenId> out;
  for (int i = 0; i < n; ++i) out.push_back(TokenId((i * 7919 + 13) % vocab));
  return out;
}

Status writeRandomGates(const ModelConfig& config, const std::string& path) {
  constexpr int kHidden = 256;  // semantics.md, section 6
  SafetensorsWriter writer;
  std::vector<std::vector<std::byte>> kept;
  kept.reserve(static_cast<std::size_t>(config.layers) * 8);
  std::uint64_t drawn = 0;
  const auto add = [&](const std::string& name, const std::vector<std::int64_t>& shape) {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    std::vector<std::byte>& bytes = kept.emplace_back(static_cast<std::size_t>(2 * n));
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint16_t value =
          kernels::floatToBf16(static_cast<float>(unitInterval(randomBits(1, drawn++)) - 0.5) * 0.2f);
      std::memcpy(bytes.data() + 2 * i, &value, 2);
    }
    writer.add(name, Element::BF16, shape, bytes);
  };
  for (int layer = 0; layer < config.layers; ++layer)
    for (int stage = 1; stage <= 4; ++stage) {
      const std::string at = "layers." + std::to_string(layer) + ".";
      const std::int64_t in = stage == 1 ? config.headDim : kHidden, out = stage == 4 ? 1 : kHidden;
      add(at + "w" + std::to_string(stage), {config.kvHeads, out, in});
      add(at + "b" + std::to_string(stage), {config.kvHeads, out});
    }
  for (const auto& [key, value] :
       {std::pair{"input", "pre_rope"}, {"model", "any"}, {"threshold", "0.05"}, {"cap", "6"}})
    writer.metadata(key, value);
  return writer.write(path);
}

Status goOn(const Progress& progress, const std::string& what, std::int64_t done, std::int64_t total) {
  if (report(progress, what, done, total)) return ok();
  return Error("cancelled", "the benchmark was cancelled", "on request", "run it again");
}

Result<std::unique_ptr<kernels::Backend>> benchBackend(const BenchOptions& options) {
  kernels::BackendAnswer answer = kernels::openBackend(options.backend, threadsOf(options));
  if (!answer.backend) return Error("no_backend", "the benchmark did not run", answer.why, "use --backend cpu");
  return std::move(answer.backend);
}

Status failed(const TickReport& report) { return report.ok ? ok() : Status(*report.error); }

}  // namespace kvlab
