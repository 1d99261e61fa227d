// SPDX-License-Identifier: Apache-2.0
// Decode and prefill at depth, as another engine measures them: given tokens, no sampling. Decode is
// compared with the read bandwidth (weights without an untied embedding, and the rows of K and V that a tick reads),
// prefill with the multiply-add rate of f32; both are measured beside it. Depth is a cache of random rows, because
// their values do not change the cost, and prefilling them would take time. `depth:decode:4096` measures
// one case alone.
#include <algorithm>
#include <random>

#include "bench/peak.h"
#include "bench/rig.h"
#include "core/files/cache_import.h"
#include "core/session/import_rows.h"
#include "core/session/ticks.h"
#include "kernels/scalar_convert.h"
#include "kernels/thread_pool.h"

namespace kvlab {
namespace {

constexpr int kPrompt = 512;
constexpr int kDeepest = 8192, kDecodeDepths[] = {0, 2048, 4096, kDeepest}, kPrefillDepths[] = {0, 7680};

class DepthBench {
 public:
  DepthBench(const BenchOptions& options, Session& session, nlohmann::json& rows)
      : m_options(options), m_session(session), m_rows(rows), m_pool(threadsOf(options)) {
    const ModelConfig& c = session.model().config();
    std::mt19937 random(1);
    m_values.resize(static_cast<std::size_t>(c.kvHeads) * kDeepest * static_cast<std::size_t>(c.headDim));
    for (std::uint16_t& v : m_values) v = kernels::floatToHalf(static_cast<float>(random()) / 4e9f - 0.5f);
  }

  Status decode(int depth, int tokens, int runs) {
    std::vector<double> rates, shares, bandwidth;
    for (int run = 0; run < runs; ++run) {
      for (double read : readBandwidth(threadsOf(m_options), m_options.quick ? 1 << 26 : 1 << 29, 2))
        bandwidth.push_back(read);
      KV_TRY(fill(depth));
      KV_TRY(failed(step(m_session, {TokenId(1)})));  // logits, rotary table
      const auto start = BenchClock::now();
      for (int i = 0; i < tokens; ++i) KV_TRY(failed(step(m_session, {TokenId(2 + i)})));
      rates.push_back(tokens / secondsSince(start));
      shares.push_back(rates.back() * bytesRead(depth + 1 + tokens / 2) / 1e9);
    }
    for (double& share : shares) share /= *std::max_element(bandwidth.begin(), bandwidth.end());
    const std::string what = caseOf(depth);
    m_rows.push_back(benchRow("depth", what, "decode", "tokens/s", rates));
    m_rows.push_back(benchRow("depth", what, "decode_share_of_bandwidth", "x", shares));
    m_rows.push_back(benchRow("depth", what, "bandwidth", "GB/s", bandwidth));
    return ok();
  }

  Status prefill(int depth, int runs) {
    std::vector<double> rates, shares, peak;
    for (int run = 0; run < runs; ++run) {
      peak.push_back(kernels::multiplyAddRate({&m_pool, nullptr}, 0.1));
      KV_TRY(fill(depth));
      const std::vector<TokenId> prompt = benchTokens(kPrompt, m_session.model().config().vocab);
      const auto start = BenchClock::now();
      KV_TRY(failed(append(m_session, prompt, Source::Prompt)));
      rates.push_back(kPrompt / secondsSince(start));
      shares.push_back(rates.back() / kPrompt * multiplyAdds(depth));
    }
    for (double& share : shares) share /= *std::max_element(peak.begin(), peak.end());
    for (double& rate : peak) rate *= 2e-9;
    const std::string what = caseOf(depth);
    m_rows.push_back(benchRow("depth", what, "prefill", "tokens/s", rates));
    m_rows.push_back(benchRow("depth", what, "prefill_share_of_multiply_adds", "x", shares));
    m_rows.push_back(benchRow("depth", what, "multiply_add_rate", "GFLOP/s", peak));
    return ok();
  }

 private:
  std::string caseOf(int depth) const {
    return m_options.model + ", " + kernels::dtypeName(m_session.model().dtype()) + ", " +
        (m_options.weights.empty() ? "" : "weights " + m_options.weights + ", ") +
        std::to_string(threadsOf(m_options)) + " threads, depth " + std::to_string(depth);
  }

  Status fill(int depth) {
    if (Status done = m_session.reset(); !done || depth == 0) return done;
    const ModelConfig& c = m_session.model().config();
    CacheImport rows;
    rows.tokens = benchTokens(depth, c.vocab);
    for (int i = 0; i < depth; ++i) rows.phases.push_back(i);
    const TensorView values{m_values.data(), kernels::DType::f16, {c.kvHeads, depth, c.headDim}};
    rows.rotated.assign(static_cast<std::size_t>(c.layers), {values, values});
    rows.rounded.resize(static_cast<std::size_t>(c.layers));
    return importRows(m_session, rows, false);
  }

  double bytesRead(int rows) const {
    const Model& model = m_session.model();
    const kernels::RowFormat& f = m_session.store().pool(CacheLayer(0)).format();
    const double perRow =
        f.kvHeads * f.headDim * static_cast<double>(kernels::dtypeBytes(f.k) + kernels::dtypeBytes(f.v));
    const double idle = model.head().data == model.embed().data ? 0 : static_cast<double>(model.embed().bytes());
    return static_cast<double>(model.weightBytes()) - idle + perRow * keysOfAllLayers(rows);
  }

  /// Keys that a query sees behind `rows` rows, of all layers together.
  double keysOfAllLayers(double rows) const {
    const ModelConfig& c = m_session.model().config();
    double keys = 0;
    for (int layer = 0; layer < c.layers; ++layer) {
      const int window = c.windowPerLayer.empty() ? c.slidingWindow : c.windowPerLayer[static_cast<std::size_t>(layer)];
      keys += window == 0 ? rows : std::min<double>(rows, window);
    }
    return keys;
  }

  /// Multiply-adds of a prefill of kPrompt tokens: the layers for each token, the head for one.
  double multiplyAdds(int depth) const {
    const ModelConfig& c = m_session.model().config();
    const double width = c.heads * c.headDim, kvWidth = c.kvHeads * c.headDim, hidden = c.hidden;
    const double layer = hidden * (2 * width + 2 * kvWidth + 3.0 * c.intermediate);
    const double keys = keysOfAllLayers(depth + (kPrompt + 1) / 2.0);
    return kPrompt * (c.layers * layer + 2 * width * keys) + hidden * c.vocab;
  }

  const BenchOptions& m_options;
  Session& m_session;
  nlohmann::json& m_rows;
  kernels::ThreadPool m_pool;
  std::vector<std::uint16_t> m_values;  // f16 [kvHeads, kDeepest, headDim], of every layer
};

Status measureShape(const BenchOptions& options, nlohmann::json& rows) {
  std::unique_ptr<Session> session = KV_TRY(benchSession(options, options.model, false, kDeepest + 2 * kPrompt));
  DepthBench bench(options, *session, rows);
  const std::size_t before = rows.size();
  const int runs = options.quick ? 1 : 3, tokens = options.quick ? 2 : 32;
  const auto wanted = [&](const char* metric, int depth) {
    return (std::string(metric) + ":" + std::to_string(depth) + ":").starts_with(options.only + ":") ||
        options.only.empty();
  };
  for (int depth : kDecodeDepths)
    if (wanted("decode", depth)) KV_TRY(bench.decode(depth, tokens, runs));
  for (int depth : kPrefillDepths)
    if (wanted("prefill", depth)) KV_TRY(bench.prefill(depth, runs));
  if (rows.size() > before) return ok();
  return Error("usage", "depth:" + options.only, "no case has that name",
               "name decode:0, decode:2048, decode:4096, decode:8192, prefill:0 or prefill:7680");
}

}  // namespace

Status benchDepth(const BenchOptions& options, nlohmann::json& rows) {
  std::vector<std::string> models{"synthetic:tinyllama-1.1b", "synthetic:smollm-135m", "synthetic:stories-15m"};
  if (options.quick) models = {"synthetic:tiny"};
  if (!options.model.empty()) models = {options.model};
  for (const std::string& model : models) {
    say("depth: " + model);
    BenchOptions one = options;
    one.model = model;
    KV_TRY(measureShape(one, rows));
  }
  return ok();
}

}  // namespace kvlab
