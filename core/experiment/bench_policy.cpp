// SPDX-License-Identifier: Apache-2.0
// Cost of an eviction policy: a tick at its budget against one of `full` with as many rows, in turns; the end of
// the prompt; bytes before and after. Models without gates of their own get random ones: time does not depend on them.
#include <filesystem>

#include "core/experiment/bench_rig.h"
#include "core/session/requests.h"
#include "core/session/storage.h"
#include "core/session/ticks.h"

namespace kvlab {
namespace {

struct Case {
  const char* model;
  int rows, prompt;
  std::vector<std::string_view> policies;  // empty = all
};

class PolicyBench {
 public:
  PolicyBench(const BenchOptions& options, nlohmann::json& rows, const Case& one)
      : m_options(options), m_rows(rows), m_case(one) {}

  Status run(const Progress& progress) {
    m_full = KV_TRY(open({{"name", "full"}}));
    KV_TRY(failed(append(*m_full, tokens(m_case.rows), Source::Prompt)));
    const std::string gates =
        (std::filesystem::temp_directory_path() / ("kvlab-bench-gates-" + std::to_string(m_case.rows) + ".safetensors"))
            .string();
    Status done = writeRandomGates(m_full->model().config(), gates);
    for (const PolicyName& policy : policies()) {
      const auto& wanted = m_case.policies;
      if (!done || policy.name == "full" ||
          (!wanted.empty() && std::find(wanted.begin(), wanted.end(), policy.name) == wanted.end()))
        continue;
      done = goOn(progress, "policy: " + std::string(policy.name) + " on " + m_case.model);
      if (done) done = measure(std::string(policy.name), gates);
    }
    std::error_code ignored;
    std::filesystem::remove(gates, ignored);
    return done;
  }

 private:
  std::vector<TokenId> tokens(int n) const { return benchTokens(n, m_full->model().config().vocab); }

  Result<std::unique_ptr<Session>> open(const nlohmann::json& policy) const {
    Manifest manifest = KV_TRY(Manifest::fromJson({{"model", m_case.model},
                                                   {"backend", m_options.backend},
                                                   {"threads", m_options.threads},
                                                   {"capacity", m_case.prompt + 512},
                                                   {"history_bytes", 0},
                                                   {"policy", policy}}));
    return m_full ? m_full->beside(manifest) : openSession(manifest, m_options.resources);
  }

  Status measure(const std::string& policy, const std::string& gates) {
    nlohmann::json spec{{"name", policy}, {"capacity", m_case.rows}};
    if (policy == "smartkv") spec["gates"] = gates;
    std::unique_ptr<Session> opened = KV_TRY(open(spec));
    Session& s = *opened;
    const std::string what = policy + ", " + m_case.model + ", " + std::to_string(m_case.prompt) + " -> " +
        std::to_string(m_case.rows) + " rows";
    KV_TRY(failed(append(s, tokens(m_case.prompt), Source::Prompt, false)));
    const double before = static_cast<double>(s.snapshot()->bytes.allocated);
    const auto start = BenchClock::now();
    KV_TRY(failed(endPrefill(s)));
    m_rows.push_back(benchRow("policy", what, "prune", "ms", {secondsSince(start) * 1e3}));
    m_rows.push_back(benchRow("policy", what, "bytes_live", "bytes", {static_cast<double>(s.snapshot()->bytes.live)}));
    m_rows.push_back(
        benchRow("policy", what, "bytes_share", "x", {static_cast<double>(s.snapshot()->bytes.allocated) / before}));
    std::vector<double> us, ratio, decision;
    for (int run = 0; run < (m_options.quick ? 4 : 24); ++run) {
      double pair[2];
      for (Session* side : {m_full.get(), &s}) {
        const auto tick = BenchClock::now();
        KV_TRY(failed(step(*side, {TokenId(5)})));
        pair[side == &s] = secondsSince(tick) * 1e6;
      }
      us.push_back(pair[1]);
      ratio.push_back(pair[1] / pair[0]);
      decision.push_back(s.state().policy->audit.us);
    }
    m_rows.push_back(benchRow("policy", what, "tick", "us", us));
    m_rows.push_back(benchRow("policy", what, "decision", "us", decision));
    m_rows.push_back(benchRow("policy", what, "to_full", "x", ratio));
    return trim();
  }

  /// `full` as it was before the ticks.
  Status trim() {
    std::vector<Action> actions;
    for (std::int32_t at = m_case.rows; at < m_full->state().length(); ++at) actions.push_back(Delete{Position(at)});
    KV_TRY(inject(*m_full, std::move(actions)));
    return failed(apply(*m_full));
  }

  const BenchOptions& m_options;
  nlohmann::json& m_rows;
  Case m_case;
  std::unique_ptr<Session> m_full;
};

}  // namespace

Status benchPolicy(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  std::vector<Case> cases{{"demo", 256, 1024, {}},
                          {"synthetic:smollm-135m", 256, 1024, {"snapkv", "expected_attention"}},
                          {"synthetic:tinyllama-1.1b", 704, 1024, {"h2o", "tova", "smartkv"}}};
  if (options.quick) cases = {{"synthetic:tiny", 32, 64, {}}};
  if (!options.model.empty()) cases = {{options.model.c_str(), 256, 1024, {"snapkv", "expected_attention"}}};
  for (const Case& one : cases) KV_TRY(PolicyBench(options, rows, one).run(progress));
  return ok();
}

}  // namespace kvlab
