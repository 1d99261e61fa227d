// SPDX-License-Identifier: Apache-2.0
// What the knife costs: plan, splice and commit of the reference list (semantics.md, section 3) on a cache of 8 192
// rows, in every layout. No model runs: the forward pass of the three new rows is another figure.
#include <thread>

#include "core/experiment/bench_cache.h"

namespace kvlab {
namespace {

constexpr std::int32_t kRows = 8192;

struct Samples {
  std::vector<double> plan, commit, bytes;
};

Result<Samples> measure(BenchCache& cache, int runs) {
  Samples samples;
  for (int run = 0; run < runs; ++run) {
    Result<EditCost> cost = applyTo(cache,
                                    {ReplacePair{Position(4000), Position(4001), {TokenId(5)}},
                                     ReplacePair{Position(4100), Position(4101), {TokenId(6)}}, Add{TokenId(7)}});
    if (!cost) return cost.error();
    samples.plan.push_back(cost->plan);
    samples.commit.push_back(cost->commit);
    samples.bytes.push_back(cost->bytes);
    if (Result<EditCost> back = applyTo(cache, {Add{TokenId(8)}}); !back) return back.error();  // to 8 192 rows
    if (Status tidy = compactAll(cache); !tidy) return tidy.error();
  }
  return samples;
}

}  // namespace

Status benchEdit(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  const CacheShape shapes[] = {{"tinyllama-1.1b, 22 layers", 22, 4, 64, 32}, {"7b-mha, 32 layers", 32, 32, 128, 32}};
  const auto [backend, why, unused] = kernels::openBackend(
      options.backend,
      options.threads ? options.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  if (!backend) return Error{"no_backend", "the benchmark did not run", why, "use --backend cpu"};
  for (CacheShape shape : shapes) {
    if (options.quick) shape.layers = 2;
    double indirection = 0;
    for (const LayoutName& info : layouts()) {
      if (!report(progress, std::string("edit: ") + shape.name + ", " + std::string(info.name), 0, 0))
        return Error{"cancelled", "the benchmark was cancelled", "on request", "run it again"};
      Result<BenchCache> cache =
          makeBenchCache(shape, info, kRows, 0, kernels::DType::bf16, kernels::DType::bf16, *backend);
      if (!cache) return cache.error();
      if (Result<Samples> warm = measure(*cache, 2); !warm) return warm.error();
      const bool cheap = info.name == "indirection" || info.name == "paged";
      Result<Samples> samples = measure(*cache, options.quick ? 3 : cheap ? 101 : 7);
      if (!samples) return samples.error();
      const std::string what = std::string(shape.name) + ", 8192 rows, " + std::string(info.name);
      rows.push_back(benchRow("edit", what, "plan", "us", samples->plan));
      rows.push_back(benchRow("edit", what, "commit", "us", samples->commit));
      rows.push_back(benchRow("edit", what, "bytes_moved", "B", samples->bytes));
      const double commit = rows[rows.size() - 2]["median"];
      if (indirection == 0) indirection = commit;
      else rows.push_back(benchRow("edit", what, "ratio_to_indirection", "x", {commit / indirection}));
    }
  }
  return ok();
}

}  // namespace kvlab
