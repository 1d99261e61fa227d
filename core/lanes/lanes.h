// SPDX-License-Identifier: Apache-2.0
// Several sessions in lockstep on the same tokens, over one model and one set of placed weights. Lane 0 is the
// reference; the other lanes differ from it by some keys of the manifest. Every commit is compared with the reference
// (core/analysis/metrics.h). Owned by one thread, which alone calls it; readers get reports.
//
// A lane that fails a tick leaves: its exit holds the tick and the error, it is not stepped again, and the other lanes
// go on. If a call fails on every lane, it returns an error and all lanes stay in step.
//
// Passes of lanes are made together where they can be (core/lanes/pass_group.h).
#pragma once
#include "core/api/lanes_view.h"
#include "core/lanes/pass_group.h"

namespace kvlab {

struct LanesOptions {
  bool together = true;                    // one pass for all lanes if the backend allows it
  std::vector<std::int32_t> needles = {};  // see setNeedles
};

/// The result of one commit of all lanes.
struct LanesTick : PassReport {
  struct Outcome {
    bool stepped = false;        // false: the lane had left before
    std::optional<Error> error;  // the error that ended it
    LaneFigures figures;
  };
  std::vector<TokenId> tokens;  // tokens that all lanes took
  std::string text;
  std::vector<Outcome> lanes;
};

class Lanes : public SessionGroup {
 public:
  /// Lane 0 is a fork of `origin`. For each of `changes` a lane opens whose manifest has these keys replaced (objects
  /// are merged key by key; policy, layout and lists are replaced whole) and takes the live tokens of `origin` as a
  /// prompt. Errors: lane_differs, bad_manifest, out_of_memory and those of the prompt, with the lane in `what`.
  static Result<std::unique_ptr<Lanes>> make(const Session& origin, const std::vector<nlohmann::json>& changes,
                                             const LanesOptions& options = {});
  /// Like make(), with the session itself as lane 0. On error the caller keeps the session.
  static Result<std::unique_ptr<Lanes>> around(std::unique_ptr<Session>& reference,
                                               const std::vector<nlohmann::json>& changes,
                                               const LanesOptions& options = {});
  /// A copy of all lanes in their present state, to be used by any one thread. Errors: those of Session::fork.
  Result<std::unique_ptr<Lanes>> fork() const;
  /// Returns the session of a lane and ends these lanes.
  std::unique_ptr<Session> release(int lane);
  ~Lanes();

  int size() const { return static_cast<int>(m_lanes.size()); }
  /// Errors: bad_argument, if there is no such lane.
  Status there(int lane) const;
  const Session& session(int lane) const;
  Session& session(int lane);  // for measurements
  /// Runs a verb that appends tokens, such as prompt, in every lane in step. Errors: out_of_step if the reference has
  /// left, and the verb's own.
  Result<LanesTick> feed(const std::string& verb, const nlohmann::json& args);
  /// One tick with the given tokens, or with tokens that lane 0 generates. Errors: as feed, and empty.
  Result<LanesTick> step(const std::vector<TokenId>& forced = {});
  /// Runs any verb on one lane. The lane leaves if the verb appends tokens or takes tokens back.
  Result<nlohmann::json> call(int lane, const std::string& verb, const nlohmann::json& args);
  /// Sets the tokens whose survival is reported, as indices among the tokens that all lanes took. Errors: bad_argument.
  Status setNeedles(std::vector<std::int32_t> places);
  LanesViewPtr view() const { return m_view; }
  /// Lane 0's snapshot with the report of all lanes.
  SnapshotPtr snapshot() const { return m_snapshot; }

 private:
  struct Lane;
  using Job = std::function<std::optional<Error>(Lane&)>;

  Lanes() = default;
  Status open(const Session& origin, const nlohmann::json& changes);
  Status usable() const;
  Result<LanesTick> commit(const Job& job, std::string apart, bool tick);
  void makeWide(bool together);
  void runAll(const Job& job, std::string apart);
  std::optional<Error> settle();
  void measure(bool tick);
  void compare(Lane& lane);
  void compareRows(Lane& lane);
  void remeasure();
  void publish();

  std::vector<std::unique_ptr<Lane>> m_lanes;
  std::vector<std::int32_t> m_needles;
  std::int64_t m_ticks = 0;
  PassGroup m_passes;  // on lane 0's backend: ends before the lanes
  LanesViewPtr m_view;
  SnapshotPtr m_snapshot;
  std::uint64_t m_serial = 0;
};

}  // namespace kvlab
