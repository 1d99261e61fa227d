// SPDX-License-Identifier: Apache-2.0
// The cost of looking: a snapshot, and a tick while a view asks for norms of all keys, again and again.
#include "bench/rig.h"
#include "core/session/requests.h"
#include "core/session/ticks.h"
#include "core/session/tiles.h"

namespace kvlab {

Status benchSnapshot(const BenchOptions& options, nlohmann::json& rows) {
  for (const auto& [model, depth] : tickCases(options)) {
    say(std::string("snapshot: ") + model);
    const std::unique_ptr<Session> session = KV_TRY(benchSession(options, model, true, 4096));
    Session& s = *session;
    KV_TRY(failed(append(s, benchTokens(depth, s.model().config().vocab), Source::Prompt)));
    std::vector<double> publish, norms;
    const int runs = options.quick ? 5 : 101;
    for (int run = 0; run < runs; ++run) {
      const auto start = BenchClock::now();
      clearPending(s);  // publishes a snapshot and does nothing else
      publish.push_back(secondsSince(start) * 1e6);
    }
    for (int run = 0; run < runs; ++run) {
      const auto alone = BenchClock::now();
      KV_TRY(failed(step(s, {TokenId(5)})));
      const auto beside = BenchClock::now();
      std::unique_ptr<PendingTile> tile = kvlab::tile(s, {Quantity::KNorm}).take();  // norms of all keys
      KV_TRY(failed(step(s, {TokenId(5)})));
      norms.push_back(secondsSince(beside) / std::chrono::duration<double>(beside - alone).count());
      while (!tile->arrived()) KV_TRY(failed(step(s, {TokenId(5)})));
      KV_TRY(tile->take());
    }
    const std::string what = std::string(model) + ", depth " + std::to_string(depth);
    rows.push_back(benchRow("snapshot", what, "snapshot", "us", publish));
    rows.push_back(benchRow("snapshot", what, "key_norms_ratio", "x", norms));
  }
  return ok();
}

}  // namespace kvlab
