// SPDX-License-Identifier: Apache-2.0
// The cost of breakpoints and watches for a tick. They are evaluated around the tick, so the tick's events do not hold
// their time.
#include "bench/rig.h"
#include "core/session/observe.h"
#include "core/session/ticks.h"

namespace kvlab {
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
Status measureWatches(const BenchOptions& options, const char* model, int depth, nlohmann::json& rows) {
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
    rows.push_back(benchRow("watches", what, kSides[side], "us", us[side]));
    if (side > 0) rows.push_back(benchRow("watches", what, std::string(kSides[side]) + "_ratio", "x", ratio[side]));
  }
  return ok();
}

}  // namespace

Status benchWatches(const BenchOptions& options, nlohmann::json& rows) {
  for (const auto& [model, depth] : tickCases(options)) {
    say(std::string("watches: ") + model);
    KV_TRY(measureWatches(options, model, depth, rows));
  }
  return ok();
}

}  // namespace kvlab
