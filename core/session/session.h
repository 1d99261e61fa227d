// SPDX-License-Identifier: Apache-2.0
// One session: a model, a cache with its mirror, and the funnel through which both change. Owned by the engine thread,
// which alone calls it. Two sessions share nothing but files mapped read-only and weights. A call that fails leaves the
// session as it was unless it says otherwise. What can be done with a session stands beside it: ticks.h, requests.h,
// truth.h, storage.h, policies.h, tiles.h, import_rows.h.
#pragma once
#include "core/session/breakpoints.h"
#include "core/session/history.h"
#include "core/session/publisher.h"
#include "core/session/ticker.h"

namespace kvlab {

class Session {
 public:
  static Result<std::unique_ptr<Session>> open(const Manifest& manifest, const std::string& resources,
                                               const Progress& progress = {});
  ~Session();
  /// A second session in the present state, for any thread: it shares nothing but the model. Its history holds the
  /// commands that led here and no older state, so going back executes them again.
  Result<std::unique_ptr<Session>> fork() const;
  /// An empty session with another manifest over the same model, weights and back end, for any thread. Errors:
  /// lane_differs (names the key) where model, back end, weights, numerics or dtype are others; bad_manifest;
  /// out_of_memory.
  Result<std::unique_ptr<Session>> beside(Manifest manifest) const;

  SessionParts& parts() { return m_parts; }
  const SessionParts& parts() const { return m_parts; }
  CacheKind& kind() const { return *m_parts.kind; }
  const Manifest& manifest() const { return m_parts.manifest; }
  const Model& model() const { return *m_parts.model; }
  const CacheStore& store() const { return m_parts.store; }
  const CacheLayers& cacheLayers() const { return m_parts.cacheLayers; }
  Transformer& transformer() const { return *m_parts.transformer; }
  const CacheState& state() const { return m_history.state(); }
  const Timeline& timeline() const { return m_history.timeline(); }
  History& history() { return m_history; }
  const History& history() const { return m_history; }
  Measured& measured() const { return m_history.measured(); }
  const Health& health() const { return m_health; }
  Health& health() { return m_health; }
  Watching& watching() { return m_watching; }
  const Watching& watching() const { return m_watching; }
  Breakpoints& breakpoints() { return m_breakpoints; }
  const std::vector<Action>& pending() const { return m_pending; }

  // --- the funnel -----------------------------------------------------------------------------------
  /// Error (code broken) after a failure that lost rows: only a rebuild, saving and closing are left.
  Status usable() const;
  /// Generates, applies, verifies, publishes. A report with ok == false tells what failed; then nothing has changed
  /// and what was pending still is, or only the token was added (report.token set), or the session is broken.
  TickReport tick(TickWish wish);
  /// True if a tick without a wish would change something.
  bool wantsTick();
  enum class Check : std::uint8_t { None, AsInTicks, Full };
  /// Takes what `makes` returns as the next state, checks and publishes it.
  Status change(const std::function<Result<Commit>(CallContext&)>& makes, Check check = Check::AsInTicks);
  /// Every row anew; mends a broken session. A cancelled rebuild leaves whole layers.
  Result<RebuildOutcome> rebuild();
  /// Calls `reads` with what a pass needs; the state stays.
  template <class F>
  auto look(F&& reads) {
    Trace trace;
    CallContext call = callContext(trace);
    return reads(call);
  }
  /// The present state said otherwise, see History::refine().
  void refine(CacheState state) { m_history.refine(std::move(state)); }
  /// Goes to an entry of the timeline: a kept state comes back as it was, another by executing its commands again.
  Status travel(int entry);
  /// Forgets all rows and zeroes what it gives back.
  Status reset();
  void setPending(std::vector<Action> actions) { m_pending = std::move(actions); }
  /// Rows are lost until a rebuild.
  void markBroken(const std::string& reason);
  /// Every invariant once; publishes.
  const std::vector<InvariantState>& check(bool full);
  /// Chooses tokens and knows what passes are to bring back.
  Ticker ticker(CallContext& call) const {
    return {call, m_revisers, state().tick.value() < m_watching.attentionUntil};
  }

  // --- what readers see -----------------------------------------------------------------------------
  Publisher& publisher() { return m_publisher; }
  SnapshotPtr snapshot() const { return m_publisher.snapshot(); }
  void publish() { m_publisher.publish(*this); }
  void setPublish(std::function<void(SnapshotPtr)> publish) { m_publisher.setReceiver(std::move(publish)); }
  /// Where long work reports and learns that it should stop.
  void setProgress(Progress progress) { m_progress = std::move(progress); }
  const Progress& progress() const { return m_progress; }
  /// Called in the middle of long verbs where the session is whole and others may look at it: between two ticks.
  void setBetweenTicks(std::function<void()> between) { m_betweenTicks = std::move(between); }
  void betweenTicks() const {
    if (m_betweenTicks && !m_history.replaying()) m_betweenTicks();
  }

 private:
  explicit Session(SessionParts parts);
  CallContext callContext(Trace& trace);
  std::vector<Action> takePending(std::optional<std::size_t> place, std::vector<Action>& rest);
  void commit(Commit commit);
  void undone(const CallContext& call);
  void mend();
  void recover(Ticker& ticker, bool forced, Trace& trace, TickReport& report);
  void verify(Trace& trace, TickReport& report);
  std::vector<Violation> runChecks(bool full, std::int64_t part);
  std::vector<Violation> checkChange();
  TickReport refused(Error error) const;
  TickReport finish(TickReport report, Trace& trace);
  void startOver();
  Status replay(int entry);

  SessionParts m_parts;
  Revisers m_revisers;
  History m_history;
  std::vector<Action> m_pending;
  Health m_health;
  Watching m_watching;
  Breakpoints m_breakpoints;
  Publisher m_publisher;
  Progress m_progress;
  std::function<void()> m_betweenTicks;
};

}  // namespace kvlab
