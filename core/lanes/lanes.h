// SPDX-License-Identifier: Apache-2.0
// Several sessions in lockstep on the same tokens, over one model and one set of placed weights: lane 0 is
// the reference, the others differ from it by some keys of the manifest. Every commit is measured against
// the reference (core/analysis/metrics.h). Owned by one thread, which alone calls it; readers get views.
//
// A lane that fails a tick leaves: its exit says when and why, it is stepped no more, the others go on. A
// call that fails on every lane is an error and leaves all in step.
//
// Passes are made together (core/lanes/lockstep.h) where all memory is the host's: the linear steps, and so
// the weights, once for all lanes. A device orders each session's calls for itself: there each lane makes its
// own pass. The bits are the same.
#pragma once
#include "core/api/lanes_view.h"
#include "core/api/tile.h"
#include "core/session/session.h"

namespace kvlab {

struct LanesOptions {
  bool together = true;                    // one pass for all lanes where the back end lets them; false: each its own
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
  /// Lane 0 is a fork of `origin`; the others open beside it with the keys of `changes` replaced in its manifest
  /// (objects key by key, but policy, layout and lists whole), and take its live tokens as a prompt. Errors:
  /// lane_differs, bad_manifest, out_of_memory and those of the prompt, with the lane in `what`.
  static Result<std::unique_ptr<Lanes>> make(const Session& origin, const std::vector<nlohmann::json>& changes,
                                             const LanesOptions& options = {});
  /// The same with the session itself as lane 0; on error it stays with the caller.
  static Result<std::unique_ptr<Lanes>> around(std::unique_ptr<Session>& reference,
                                               const std::vector<nlohmann::json>& changes,
                                               const LanesOptions& options = {});
  /// All lanes as they are now, for any thread. Errors: those of Session::fork.
  Result<std::unique_ptr<Lanes>> fork() const;
  /// A lane as a session of its own; these lanes are over.
  std::unique_ptr<Session> release(int lane);
  ~Lanes();

  int size() const { return static_cast<int>(m_lanes.size()); }
  const Session& session(int lane) const;
  Breakpoints& breakpoints();                                             // of lane 0
  Result<std::unique_ptr<PendingTile>> tile(const TileRequest& request);  // likewise
  /// verb: one that the table says feeds lanes, as prompt does; every lane in step runs it. Errors: out_of_step where
  /// the reference has left, and the verb's own.
  Result<LanesTick> feed(const std::string& verb, const nlohmann::json& args);
  /// One tick: the given tokens, or those that lane 0 generates. Errors: as feed, and empty.
  Result<LanesTick> step(const std::vector<TokenId>& forced = {});
  /// Any verb on one lane alone. One that gives it tokens of its own, or takes some back, makes it leave.
  Result<nlohmann::json> call(int lane, const std::string& verb, const nlohmann::json& args);
  /// Tokens, as places among those that all lanes took, whose survival is reported. Errors: bad_argument.
  Status setNeedles(std::vector<std::int32_t> places);
  LanesViewPtr view() const { return m_view; }
  /// Lane 0's, with the view of all lanes.
  SnapshotPtr snapshot() const { return m_snapshot; }
  /// Called when all lanes have done what they had to, and after calls that changed one.
  void setPublish(std::function<void(SnapshotPtr)> publish) { m_publish = std::move(publish); }
  /// Where steps and prompts of all lanes report; asked once per tick whether to go on.
  void setProgress(Progress progress) { m_progress = std::move(progress); }
  const Progress& progress() const { return m_progress; }
  /// Called between two ticks of a long verb, where all lanes are whole and others may look at them.
  void setBetweenTicks(std::function<void()> between) { m_betweenTicks = std::move(between); }
  void betweenTicks() const {
    if (m_betweenTicks) m_betweenTicks();
  }

 private:
  struct Lane;
  using Job = std::function<std::optional<Error>(Lane&)>;

  Lanes() = default;
  Status open(const Session& origin, const nlohmann::json& changes);
  Status usable() const;
  Result<LanesTick> commit(const Job& job, std::string apart, bool tick);
  void makeWide();
  std::string whyApart() const;
  void runAll(const Job& job);
  void runTogether(const Job& job);
  void runApart(const Job& job);
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
  std::unique_ptr<Transformer> m_wide;  // for the rows of all lanes at once; on lane 0's back end
  std::string m_apart;
  LanesViewPtr m_view;
  SnapshotPtr m_snapshot;
  std::uint64_t m_serial = 0;
  std::function<void(SnapshotPtr)> m_publish;
  Progress m_progress;
  std::function<void()> m_betweenTicks;
};

}  // namespace kvlab
