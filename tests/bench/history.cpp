// SPDX-License-Identifier: Apache-2.0
// Cost of history: a step back and forward again in each layout after more and more ticks, and a tick that keeps
// overwritten rows against one that keeps nothing. Contexts grow, or a window is full and each tick lets a row go.

#include "bench/rig.h"
#include "core/api/layout_names.h"
#include "core/session/requests.h"
#include "core/session/ticks.h"

namespace kvlab {
namespace {

constexpr int kKeptRows = 256;

Result<std::unique_ptr<Session>> keeping(const BenchOptions& options, const LayoutName& layout, bool full,
                                         std::int64_t history) {
  nlohmann::json manifest{{"model", options.quick ? "synthetic:tiny" : "demo"},
                          {"backend", options.backend},
                          {"threads", threadsOf(options)},
                          {"layout", layout.name},
                          {"capacity", 4096},
                          {"history_bytes", history}};
  if (full) manifest["ring"] = {{"window", kKeptRows}};
  if (full) manifest["policy"] = "sliding_window:capacity=" + std::to_string(kKeptRows);
  const Manifest parsed = KV_TRY(Manifest::fromJson(manifest));
  std::unique_ptr<Session> session = KV_TRY(openSession(parsed, options.resources));
  KV_TRY(failed(append(*session, benchTokens(kKeptRows, session->model().config().vocab), Source::Prompt)));
  return session;
}

Result<double> timed(Session& session, const std::function<Status(Session&)>& call) {
  const auto start = BenchClock::now();
  KV_TRY(call(session));
  return secondsSince(start) * 1e6;
}

Status measureHistory(const BenchOptions& options, const LayoutName& layout, bool full, nlohmann::json& rows) {
  const std::unique_ptr<Session> keeps = KV_TRY(keeping(options, layout, full, std::int64_t{1} << 28));
  const std::unique_ptr<Session> forgets = KV_TRY(keeping(options, layout, full, 0));
  const std::string what = std::string(layout.name) + (full ? ", full window" : ", growing");
  const auto tick = [](Session& session) { return failed(step(session, {TokenId(5)})); };
  std::vector<double> ticks, ratio;
  for (const int length : options.quick ? std::vector{10, 20} : std::vector{100, 400, 1600}) {
    while (std::ssize(ticks) < length) {
      ticks.push_back(KV_TRY(timed(*keeps, tick)));
      ratio.push_back(ticks.back() / KV_TRY(timed(*forgets, tick)));
    }
    std::vector<double> back, forward, bytes;
    for (int run = 0; run < (options.quick ? 3 : 51); ++run) {
      back.push_back(KV_TRY(timed(*keeps, [](Session& s) { return undo(s); })));
      bytes.push_back(static_cast<double>(keeps->health().bytesMoved));
      forward.push_back(KV_TRY(timed(*keeps, [](Session& s) { return redo(s); })));
    }
    const std::string then = what + ", after " + std::to_string(length) + " ticks";
    rows.push_back(benchRow("history", then, "undo", "us", back));
    rows.push_back(benchRow("history", then, "redo", "us", forward));
    rows.push_back(benchRow("history", then, "undo_bytes", "B", bytes));
  }
  rows.push_back(benchRow("history", what, "tick", "us", ticks));
  rows.push_back(benchRow("history", what, "tick_ratio_to_no_history", "x", ratio));
  return ok();
}

}  // namespace

Status benchHistory(const BenchOptions& options, nlohmann::json& rows) {
  for (const LayoutName& layout : layouts()) {
    say("history: " + std::string(layout.name));
    for (const bool full : {false, true}) KV_TRY(measureHistory(options, layout, full, rows));
  }
  return ok();
}

}  // namespace kvlab
