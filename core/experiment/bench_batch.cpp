// SPDX-License-Identifier: Apache-2.0
// A batch of sequences behind a shared prefix: tokens a second of all together, and memory of their pools against as
// many copies. `smartkv` keeps a quarter of the prefix, the same number of rows in each layer. Both policies and all
// sizes take turns, and ratios are those of one turn.
#include <array>
#include <filesystem>

#include "core/experiment/bench_rig.h"
#include "core/lanes/batch_verbs.h"
#include "core/session/ticks.h"

namespace kvlab {
namespace {

constexpr std::array<const char*, 2> kPolicies{"full", "smartkv"};

struct BatchCase {
  std::string model;
  int prefix;
};

struct BatchRun {
  double rate = 0, openMs = 0, total = 0, copies = 0;
};

class BatchBench {
 public:
  BatchBench(const BenchOptions& options, const BatchCase& one, nlohmann::json& rows)
      : m_options(options), m_case(one), m_rows(rows) {}

  Status run(const Progress& progress) {
    const std::filesystem::path gates = std::filesystem::temp_directory_path() /
        ("kvlab-bench-batch-" + std::to_string(m_case.prefix) + ".safetensors");
    Status done = open(gates.string(), progress);
    std::error_code ignored;
    std::filesystem::remove(gates, ignored);
    KV_TRY(done);
    const std::vector<int> sizes = m_options.quick ? std::vector{1, 2} : std::vector{1, 2, 4, 8};
    std::vector<std::array<std::vector<BatchRun>, 2>> all(sizes.size());  // [sizes][policies][turns]
    for (int turn = 0; turn < (m_options.quick ? 1 : 5); ++turn)
      for (std::size_t size = 0; size < sizes.size(); ++size)
        for (std::size_t policy = 0; policy < kPolicies.size(); ++policy) {
          KV_TRY(goOn(progress, "batch: " + caseOf(policy, sizes[size])));
          all[size][policy].push_back(KV_TRY(measure(*m_sessions[policy], sizes[size])));
        }
    for (std::size_t size = 0; size < sizes.size(); ++size)
      for (std::size_t policy = 0; policy < kPolicies.size(); ++policy)
        tell(caseOf(policy, sizes[size]), all[size][policy], all[0][policy], all[size][0]);
    return ok();
  }

 private:
  std::string caseOf(std::size_t policy, int size) const {
    return std::string(kPolicies[policy]) + ", " + m_case.model + ", prefix " + std::to_string(m_case.prefix) + ", " +
        std::to_string(size) + (size == 1 ? " sequence" : " sequences");
  }

  /// A session for each policy, with the prefix.
  Status open(const std::string& gates, const Progress& progress) {
    for (const char* policy : kPolicies) {
      KV_TRY(goOn(progress, std::string("batch: prefix, ") + policy + ", " + m_case.model));
      nlohmann::json spec{{"name", policy}};
      if (!m_sessions.empty()) spec["ratio"] = 0.25;
      if (!m_sessions.empty() && m_case.model != "demo") {  // the demo model has gates of its own
        KV_TRY(writeRandomGates(m_sessions[0]->model().config(), gates));
        spec["gates"] = gates;
      }
      Manifest manifest = KV_TRY(Manifest::fromJson({{"model", m_case.model},
                                                     {"backend", m_options.backend},
                                                     {"threads", threadsOf(m_options)},
                                                     {"probes", false},
                                                     {"check", {{"level", "off"}}},
                                                     {"capacity", m_case.prefix + 256},
                                                     {"history_bytes", 0},
                                                     {"policy", spec}}));
      Result<std::unique_ptr<Session>> opened =
          m_sessions.empty() ? openSession(manifest, m_options.resources) : m_sessions[0]->beside(manifest);
      std::unique_ptr<Session> session = KV_TRY(std::move(opened));
      const std::vector<TokenId> prefix = benchTokens(m_case.prefix, session->model().config().vocab);
      KV_TRY(failed(append(*session, prefix, Source::Prompt)));
      m_sessions.push_back(std::move(session));
    }
    return ok();
  }

  Result<BatchRun> measure(const Session& origin, int size) const {
    const int ticks = m_options.quick ? 2 : 24;
    BatchRun out;
    const auto begin = BenchClock::now();
    std::unique_ptr<Session> first = KV_TRY(origin.fork());
    std::unique_ptr<Batch> batch = KV_TRY(Batch::around(first, size));
    out.openMs = secondsSince(begin) * 1e3;
    KV_TRY(step(*batch, 0));
    const auto start = BenchClock::now();
    for (int i = 1; i <= ticks; ++i) KV_TRY(step(*batch, i));
    out.rate = size * ticks / secondsSince(start);
    const nlohmann::json bytes = KV_TRY(execute(*batch, "batchBytes", nullptr));
    out.total = bytes["total"].get<double>();
    out.copies = bytes["copies"].get<double>();
    return out;
  }

  /// One tick, in which each sequence takes a token of its own.
  static Status step(Batch& batch, int tick) {
    std::vector<TokenId> tokens;
    for (int i = 0; i < batch.size(); ++i) tokens.emplace_back(5 + 3 * tick + i);
    for (const BatchTick::Outcome& one : batch.step(tokens).sequences)
      if (one.error) return *one.error;
    return ok();
  }

  void tell(const std::string& what, const std::vector<BatchRun>& runs, const std::vector<BatchRun>& one,
            const std::vector<BatchRun>& full) {
    std::vector<double> rate, toOne, toFull, openMs;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      rate.push_back(runs[i].rate);
      toOne.push_back(runs[i].rate / one[i].rate);
      toFull.push_back(runs[i].rate / full[i].rate);
      openMs.push_back(runs[i].openMs);
    }
    const auto add = [&](const char* metric, const char* unit, std::vector<double> samples) {
      m_rows.push_back(benchRow("batch", what, metric, unit, std::move(samples)));
    };
    add("decode", "tokens/s", rate);
    add("to_one_sequence", "x", toOne);
    add("to_full", "x", toFull);
    add("open", "ms", openMs);
    add("memory", "bytes", {runs.back().total});
    add("memory_of_copies", "bytes", {runs.back().copies});
  }

  const BenchOptions& m_options;
  const BatchCase& m_case;
  nlohmann::json& m_rows;
  std::vector<std::unique_ptr<Session>> m_sessions;  // [policies]
};

}  // namespace

Status benchBatch(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  std::vector<BatchCase> cases;
  std::vector<std::string> models{"demo", "synthetic:smollm-135m"};
  if (!options.model.empty()) models = {options.model};
  if (options.quick) models = {"synthetic:tiny"};
  for (const std::string& model : models)
    for (const int prefix : options.quick ? std::vector{64} : std::vector{512, 4096}) cases.push_back({model, prefix});
  for (const BatchCase& one : cases) KV_TRY(BatchBench(options, one, rows).run(progress));
  return ok();
}

}  // namespace kvlab
