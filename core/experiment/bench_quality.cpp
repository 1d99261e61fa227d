// SPDX-License-Identifier: Apache-2.0
// Cost of the storage types of K and V for the model: one long text, sampled by the demo model from f32
// rows, is read token by token by a session per pair of types. Against f32 rows: KL of the next token in
// nats (mean, 99th percentile, and of the last quarter, where errors have piled up), the change of the
// text's mean negative log-likelihood, and how often the likeliest token is the same. Keys are stored
// unrotated (on_read) or rotated (at_write), as ring caches elsewhere do. And what int8 weights and the other
// arithmetic of the CPU cost, over f32 rows. semantics.md, section 9.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/analysis/metrics.h"
#include "core/analysis/rebuild.h"
#include "core/experiment/bench_rig.h"
#include "core/model/decoder/likelihood.h"
#include "core/session/ticks.h"
#include "kernels/numerics.h"

namespace kvlab {
namespace {

using Logits = std::vector<float>;

nlohmann::json rowsOf(const std::string& keyPhase, const std::string& k, const std::string& v) {
  return {{"key_phase", keyPhase}, {"kv", {{"k", k}, {"v", v}}}};
}

Result<std::unique_ptr<Session>> openFor(const BenchOptions& options, const nlohmann::json& changes) {
  nlohmann::json wanted{{"model", options.model.empty() ? "demo" : options.model},
                        {"backend", options.backend},
                        {"threads", threadsOf(options)},
                        {"probes", false},
                        {"check", {{"level", "off"}}},
                        {"history_bytes", 0}};
  wanted.update(changes);
  Manifest manifest = KV_TRY(Manifest::fromJson(wanted));
  return openSession(manifest, options.resources);
}

/// A text of `length` tokens in the model's own words.
Result<std::vector<TokenId>> sampleText(const BenchOptions& options, int length) {
  nlohmann::json sampled = rowsOf("on_read", "f32", "f32");
  sampled["sampling"] = {{"temperature", 0.8}, {"seed", 7}};
  std::unique_ptr<Session> session = KV_TRY(openFor(options, sampled));
  std::vector<TokenId> text = KV_TRY(session->model().tokenizer().encode("Once upon a time", true));
  KV_TRY(failed(append(*session, text, Source::Prompt)));
  std::vector<TokenId> tokens = text;
  while (static_cast<int>(tokens.size()) < length) {
    const TickReport report = step(*session);
    KV_TRY(failed(report));
    tokens.push_back(*report.token);
  }
  return tokens;
}

/// Logits before each token of the text but the first.
Result<std::vector<Logits>> read(Session& session, const std::vector<TokenId>& text) {
  std::vector<Logits> out;
  KV_TRY(failed(append(session, {text.front()}, Source::Prompt)));
  for (std::size_t i = 1; i < text.size(); ++i) {
    out.push_back(*session.state().logits);
    KV_TRY(failed(step(session, {text[i]})));
  }
  return out;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::ptrdiff_t best(const Logits& logits) { return std::max_element(logits.begin(), logits.end()) - logits.begin(); }

void compare(const std::string& what, const std::vector<Logits>& exact, const std::vector<Logits>& live,
             const std::vector<TokenId>& text, nlohmann::json& rows) {
  std::vector<double> kl, loss;
  double same = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    kl.push_back(klDivergence(exact[i], live[i]));
    loss.push_back(negativeLogLikelihood(live[i], text[i + 1]) - negativeLogLikelihood(exact[i], text[i + 1]));
    same += best(exact[i]) == best(live[i]);
  }
  std::vector<double> sorted = kl;
  std::sort(sorted.begin(), sorted.end());
  const auto add = [&](const char* metric, const char* unit, double value) {
    rows.push_back(benchRow("quality", what, metric, unit, {value}));
  };
  add("kl_mean", "nats", mean(kl));
  add("kl_p99", "nats", sorted[sorted.size() * 99 / 100]);
  add("kl_last_quarter", "nats", mean(std::span(kl).subspan(kl.size() * 3 / 4)));
  add("delta_nll", "nats", mean(loss));
  add("top1_agreement", "share", same / static_cast<double>(exact.size()));
}

}  // namespace

Status benchQuality(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  static constexpr const char* kPairs[][2] = {{"f16", "f16"},      {"bf16", "bf16"},        {"f16", "int8"},
                                              {"int8", "f16"},     {"int8", "int8"},        {"f16", "fp8-e4m3"},
                                              {"fp8-e4m3", "f16"}, {"fp8-e4m3", "fp8-e4m3"}};
  std::vector<TokenId> text = KV_TRY(sampleText(options, options.quick ? 24 : 1800));
  for (const char* keyPhase : {"on_read", "at_write"}) {
    std::vector<Logits> exact;
    const auto one = [&](const std::string& what, const nlohmann::json& changes) -> Status {
      KV_TRY(goOn(progress, "quality: " + what));
      std::unique_ptr<Session> session = KV_TRY(openFor(options, changes));
      std::vector<Logits> live = KV_TRY(read(*session, text));
      if (exact.empty()) exact = std::move(live);
      else compare(what, exact, live, text, rows);
      return ok();
    };
    const auto pair = [&](const std::string& k, const std::string& v) {
      return one(std::string(keyPhase) + ", K " + k + ", V " + v, rowsOf(keyPhase, k, v));
    };
    KV_TRY(pair("f32", "f32"));
    for (const auto& [k, v] : kPairs) KV_TRY(pair(k, v));
    if (keyPhase != std::string_view("on_read") || options.backend == "cuda") continue;
    std::vector<std::pair<std::string, std::string>> others{{"weights", "int8"}};
    for (const kernels::NumericsAnswer& other : kernels::numericsOf("cpu"))
      if (other.why.empty() && other.id != kernels::numericsId()) others.emplace_back("numerics", other.id);
    for (const auto& [key, word] : others) {
      nlohmann::json changes = rowsOf(keyPhase, "f32", "f32");
      changes[key] = word;
      KV_TRY(one(key + " " + word, changes));
    }
  }
  return ok();
}

}  // namespace kvlab
