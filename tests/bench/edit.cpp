// SPDX-License-Identifier: Apache-2.0
// Cost of the knife: plan, splice and commit of the reference list (semantics.md, section 3) on a cache of 8 192
// rows, in every layout. No model runs: the forward pass of the three new rows is another figure.

#include "bench/shaped_cache.h"

namespace kvlab {
namespace {

constexpr std::int32_t kRows = 8192;

struct Samples {
  std::vector<double> plan, commit, bytes;
};

Result<Samples> measure(ShapedCache& cache, int runs) {
  Samples samples;
  for (int run = 0; run < runs; ++run) {
    EditCost cost = KV_TRY(applyTo(cache,
                                   {ReplacePair{Position(4000), Position(4001), {TokenId(5)}},
                                    ReplacePair{Position(4100), Position(4101), {TokenId(6)}}, Add{TokenId(7)}}));
    samples.plan.push_back(cost.plan);
    samples.commit.push_back(cost.commit);
    samples.bytes.push_back(cost.bytes);
    KV_TRY(applyTo(cache, {Add{TokenId(8)}}));  // to 8 192 rows
    KV_TRY(compactAll(cache));
  }
  return samples;
}

}  // namespace

Status benchEdit(const BenchOptions& options, nlohmann::json& rows) {
  const CacheShape shapes[] = {{"tinyllama-1.1b, 22 layers", 22, 4, 64, 32}, {"7b-mha, 32 layers", 32, 32, 128, 32}};
  const std::unique_ptr<kernels::Backend> backend = KV_TRY(benchBackend(options));
  for (CacheShape shape : shapes) {
    if (options.quick) shape.layers = 2;
    double indirection = 0;
    for (const LayoutName& info : layouts()) {
      say(std::string("edit: ") + shape.name + ", " + std::string(info.name));
      ShapedCache cache =
          KV_TRY(makeShapedCache(shape, info, kRows, 0, kernels::DType::bf16, kernels::DType::bf16, *backend));
      KV_TRY(measure(cache, 2));
      const bool cheap = info.name == "indirection" || info.name == "paged";
      Samples samples = KV_TRY(measure(cache, options.quick ? 3 : cheap ? 101 : 7));
      const std::string what = std::string(shape.name) + ", 8192 rows, " + std::string(info.name);
      rows.push_back(benchRow("edit", what, "plan", "us", samples.plan));
      rows.push_back(benchRow("edit", what, "commit", "us", samples.commit));
      rows.push_back(benchRow("edit", what, "bytes_moved", "B", samples.bytes));
      const double commit = rows[rows.size() - 2]["median"];
      if (indirection == 0) indirection = commit;
      else rows.push_back(benchRow("edit", what, "ratio_to_indirection", "x", {commit / indirection}));
    }
  }
  return ok();
}

}  // namespace kvlab
