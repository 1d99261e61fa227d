// SPDX-License-Identifier: Apache-2.0
// Bandwidth, prefill, decode and the price of watching a tick.
#include "core/experiment/bench_rig.h"
#include "core/session/observe.h"
#include "core/session/requests.h"
#include "core/session/ticks.h"
#include "core/session/tiles.h"
#include "kernels/thread_pool.h"

namespace kvlab {
Status benchBandwidth(const BenchOptions& options, nlohmann::json& rows, const Progress&) {
  const std::size_t bytes = options.quick ? std::size_t{1} << 26 : std::size_t{1} << 30;
  for (int threads : {1, threadsOf(options)})
    rows.push_back(benchRow("bandwidth", std::to_string(threads) + " threads", "read", "GB/s",
                            readBandwidth(threads, bytes, options.quick ? 3 : 9)));
  return ok();
}

Status benchGenerate(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  struct Case {
    const char* model;
    int prompt, decode;
  };
  const std::vector<Case> cases = options.quick
      ? std::vector<Case>{{"synthetic:tiny", 64, 4}}
      : std::vector<Case>{{"demo", 512, 64}, {"synthetic:smollm-135m", 512, 16}, {"synthetic:tinyllama-1.1b", 128, 8}};
  for (const Case& c : cases) {
    KV_TRY(goOn(progress, std::string("generate: ") + c.model));
    std::unique_ptr<Session> session = KV_TRY(benchSession(options, c.model, false, 2048));
    Session& s = *session;
    std::vector<double> prefill, decode, share,
        bandwidth;  // taken in turns: a shared machine's bandwidth comes and goes
    for (int run = 0; run < 3; ++run) {
      for (double read : readBandwidth(threadsOf(options), options.quick ? 1 << 26 : 1 << 30, 3))
        bandwidth.push_back(read);
      KV_TRY(s.reset());
      const auto start = BenchClock::now();
      KV_TRY(failed(append(s, benchTokens(c.prompt, s.model().config().vocab), Source::Prompt)));
      prefill.push_back(c.prompt / secondsSince(start));
      for (int i = 0; i < c.decode; ++i) {
        const auto tick = BenchClock::now();
        KV_TRY(failed(step(s)));
        const double took = secondsSince(tick);
        decode.push_back(1 / took);
        const double bytes =
            static_cast<double>(s.model().weightBytes()) + static_cast<double>(s.snapshot()->bytes.live);
        share.push_back(bytes / took / 1e9);
      }
    }
    const std::string what =
        std::string(c.model) + ", " + kernels::dtypeName(s.model().dtype()) + ", depth " + std::to_string(c.prompt);
    for (double& each : share) each /= *std::max_element(bandwidth.begin(), bandwidth.end());
    rows.push_back(benchRow("generate", what, "prefill", "tokens/s", prefill));
    rows.push_back(benchRow("generate", what, "decode", "tokens/s", decode));
    rows.push_back(benchRow("generate", what, "decode_share_of_bandwidth", "x", share));
  }
  return ok();
}

namespace {

/// Conditions about rows, slots and reports that never hold, as breakpoints or as watches.
Status addConditions(Session& session, int count, bool watched) {
  static constexpr std::array kConditions = {
      "rows(layer==0) > 1000000",     "evicted(ledger==%)",
      "written(ledger==%, layer==0)", "brightness(ledger==%) < 0",
      "phase(ledger==%) == 0.5",      "moved(ledger==%)",
      "deleted(ledger==%)",           "token == 5 and length < 2",
      "evictions(layer==1) > 999999", "slot(ledger==%) != before(slot(ledger==%))"};
  for (int i = 0; i < count; ++i) {
    std::string text = kConditions[at(i) % kConditions.size()];
    for (std::size_t place; (place = text.find('%')) != std::string::npos;)
      text.replace(place, 1, std::to_string(7 + i));
    Expression condition = KV_TRY(readExpression(session, text, true));
    if (watched) session.watches().add(std::move(condition));
    else session.breakpoints().add(std::move(condition), {});
  }
  return ok();
}

/// A tick of a run with 20 breakpoints, and with 20 watches, against one without.
Status benchWatches(const BenchOptions& options, const char* model, int depth, nlohmann::json& rows) {
  static constexpr std::array kSides = {"unwatched", "breakpoints_20", "watches_20"};
  std::array<std::unique_ptr<Session>, kSides.size()> sessions;
  for (std::size_t side = 0; side < kSides.size(); ++side) {
    sessions[side] = KV_TRY(benchSession(options, model, false, 4096));
    Session& session = *sessions[side];
    KV_TRY(failed(append(session, benchTokens(depth, session.model().config().vocab), Source::Prompt)));
    if (side > 0) KV_TRY(addConditions(session, 20, side == 2));
  }
  std::array<std::vector<double>, kSides.size()> ratio, us;
  for (std::size_t i = 0; i < (options.quick ? 5 : 101); ++i) {
    for (std::size_t turn = 0; turn < kSides.size(); ++turn) {
      const std::size_t side = (turn + i) % kSides.size();  // the order changes: each finds another cache
      const auto start = BenchClock::now();
      const RunOutcome done = run(*sessions[side], 1, 1);
      us[side].push_back(secondsSince(start) * 1e6);
      if (done.count != 1) return Error("internal", "the watches were not measured", done.stoppedBy, "report this");
    }
    for (std::size_t side = 1; side < kSides.size(); ++side) ratio[side].push_back(us[side].back() / us[0].back());
  }
  const std::string what = std::string(model) + ", depth " + std::to_string(depth);
  for (std::size_t side = 0; side < kSides.size(); ++side) {
    rows.push_back(benchRow("tick", what, kSides[side], "us", us[side]));
    if (side > 0) rows.push_back(benchRow("tick", what, std::string(kSides[side]) + "_ratio", "x", ratio[side]));
  }
  return ok();
}

}  // namespace

Status benchTick(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  const std::vector<std::pair<const char*, int>> cases = options.quick
      ? std::vector<std::pair<const char*, int>>{{"synthetic:tiny", 64}}
      : std::vector<std::pair<const char*, int>>{{"demo", 512}, {"synthetic:smollm-135m", 1024}};
  for (const auto& [model, depth] : cases) {
    KV_TRY(goOn(progress, std::string("tick: ") + model));
    std::unique_ptr<Session> sides[2];
    for (int on = 0; on < 2; ++on) {
      sides[on] = KV_TRY(benchSession(options, model, on == 1, 4096));
      KV_TRY(failed(append(*sides[on], benchTokens(depth, sides[on]->model().config().vocab), Source::Prompt)));
    }
    std::vector<double> us[2], ratio, norms, publish;
    const int runs = options.quick ? 5 : 101;
    double all[2] = {};
    for (int run = 0; run < runs; ++run) {
      double sum[2] = {};
      // Behind a tick of the same session a tick is faster: each side has one of these in four.
      for (const int on : {run % 2, 1 - run % 2, 1 - run % 2, run % 2}) {
        const auto start = BenchClock::now();
        KV_TRY(failed(step(*sides[on], {TokenId(5)})));
        us[on].push_back(secondsSince(start) * 1e6);
        sum[on] += us[on].back();
        all[on] += us[on].back();
      }
      ratio.push_back(sum[1] / sum[0]);
    }
    for (int run = 0; run < runs; ++run) {
      const auto start = BenchClock::now();
      clearPending(*sides[1]);  // publishes a snapshot and does nothing else
      publish.push_back(secondsSince(start) * 1e6);
    }
    for (int run = 0; run < runs; ++run) {
      const auto alone = BenchClock::now();
      KV_TRY(failed(step(*sides[1], {TokenId(5)})));
      const auto beside = BenchClock::now();
      std::unique_ptr<PendingTile> tile = kvlab::tile(*sides[1], {Quantity::KNorm}).take();  // norms of all keys
      KV_TRY(failed(step(*sides[1], {TokenId(5)})));
      norms.push_back(secondsSince(beside) / std::chrono::duration<double>(beside - alone).count());
      while (!tile->arrived()) KV_TRY(failed(step(*sides[1], {TokenId(5)})));
      KV_TRY(tile->take());
    }
    const std::string what = std::string(model) + ", depth " + std::to_string(depth);
    rows.push_back(benchRow("tick", what, "probes_off", "us", us[0]));
    rows.push_back(benchRow("tick", what, "probes_on", "us", us[1]));
    rows.push_back(benchRow("tick", what, "probes_ratio", "x", ratio));
    rows.push_back(benchRow("tick", what, "probes_sum_ratio", "x", {all[1] / all[0]}));
    rows.push_back(benchRow("tick", what, "key_norms_ratio", "x", norms));
    rows.push_back(benchRow("tick", what, "snapshot", "us", publish));
    KV_TRY(benchWatches(options, model, depth, rows));
  }
  return ok();
}

}  // namespace kvlab
