// SPDX-License-Identifier: Apache-2.0
// Several sessions in lockstep on the same tokens, over one model and one set of placed weights: lane 0 is
// the reference, the others differ from it by some keys of the manifest. Every commit is measured against
// the reference (core/analysis/metrics.h). Owned by one thread, which alone calls it; readers get views.
//
// A lane that fails a tick leaves: its exit says when and why, it is stepped no more, the others go on. A
// call that fails on every lane is an error and leaves all in step.
#pragma once
#include "core/api/lanes_view.h"
#include "core/session/session.h"

namespace kvlab {

struct LanesOptions {
  bool together = true;  // one pass for all lanes where the back end lets them; false: each its own
  std::vector<std::int32_t> needles = {};  // see setNeedles
};

/// What one commit of all lanes was.
struct LanesTick {
  struct Outcome {
    bool stepped = false;        // false: it had left before
    std::optional<Error> error;  // why it failed
    LaneFigures figures;
  };
  std::vector<TokenId> tokens;  // that were taken
  std::string text;
  std::vector<Outcome> lanes;
  std::int64_t weightBytes = 0;  // read by the ops of all lanes
  bool together = false;
  std::string apart;
};

class Lanes {
 public:
  /// Lane 0 is a fork of `origin`; the others open beside it with the keys of `changes` replaced in its manifest (objects
  /// key by key, but policy, layout and lists whole), and take its live tokens as a prompt. Errors: lane_differs, bad_manifest,
  /// out_of_memory and those of the prompt, with the lane in `what`.
  static Result<std::unique_ptr<Lanes>> make(const Session& origin, const std::vector<nlohmann::json>& changes,
                                             const LanesOptions& options = {});
  ~Lanes();

  int size() const { return static_cast<int>(m_lanes.size()); }
  const Session& session(int lane) const;
  /// verb: prompt, promptIds, prefill or endPrefill, on every lane in step. Errors: out_of_step where
  /// the reference has left, and the verb's own.
  Result<LanesTick> feed(const std::string& verb, const nlohmann::json& args);
  /// One tick: the given tokens, or those that lane 0 generates. Errors: as feed, and empty.
  Result<LanesTick> step(const std::vector<TokenId>& forced = {});
  /// Any verb on one lane alone. One that gives it tokens of its own, or takes some back, makes it leave.
  Result<nlohmann::json> call(int lane, const std::string& verb, const nlohmann::json& args);
  /// Tokens, as places among those that all lanes took, whose survival is reported. Errors: bad_argument.
  Status setNeedles(std::vector<std::int32_t> places);
  /// Lane 0 as a session of its own.
  Result<std::unique_ptr<Session>> fork() const { return session(0).fork(); }

  LanesViewPtr view() const { return m_view; }
  /// Where steps and prompts of all lanes report; asked once per tick whether to go on.
  void setProgress(Progress progress) { m_progress = std::move(progress); }
  const Progress& progress() const { return m_progress; }

 private:
  struct Lane;
  using Job = std::function<std::optional<Error>(Lane&)>;

  Lanes() = default;
  Status open(const Session& origin, const nlohmann::json& changes);
  Status usable() const;
  Result<LanesTick> commit(const Job& job, std::string apart, bool tick);
  void runAll(const Job& job);
  std::optional<Error> settle();
  void measure(bool tick, TokenId token);
  void compare(Lane& lane, TokenId token);
  void compareRows(Lane& lane);
  void remeasure();
  void publish();

  std::vector<std::unique_ptr<Lane>> m_lanes;
  std::vector<std::int32_t> m_needles;
  std::int64_t m_ticks = 0, m_weightBytes = 0;
  bool m_wantTogether = true, m_together = false;
  std::string m_apart;
  LanesViewPtr m_view;
  Progress m_progress;
};

}  // namespace kvlab
