// SPDX-License-Identifier: Apache-2.0
// One session: a model, a KV cache with its mirror, and the two functions that change both, tick() and change(). Owned
// by the engine thread, which alone calls it. Two sessions share only placed weights and files mapped read-only. A call
// that fails leaves the session unchanged unless its comment says otherwise. Free functions for sessions are in
// ticks.h, requests.h, truth.h, storage.h, tiles.h and import_rows.h.
#pragma once
#include "core/session/breakpoints.h"
#include "core/session/history.h"
#include "core/session/notes.h"
#include "core/session/open_tick.h"
#include "core/session/past.h"
#include "core/session/publisher.h"
#include "core/session/watches.h"

namespace kvlab {

class Session {
 public:
  static Result<std::unique_ptr<Session>> open(const Manifest& manifest, const std::string& resources,
                                               const Progress& progress = {});
  ~Session();
  /// A second session with the same state, to be used by any one thread. Only the model is shared, and on host memory
  /// the pages of the pools until one of the two writes. The fork's history holds the commands that led to this state
  /// and no older state, so undo executes commands again. beside: a session on whose threads the fork computes, and
  /// with which it shares the calling thread; or null. along: the history also holds the commands that lie ahead on the
  /// branch, the anchors, and the states there whose rows lie in the pools.
  Result<std::unique_ptr<Session>> fork(const Session* beside = nullptr, bool along = false) const;
  /// An empty session with another manifest over the same model, weights and backend, to be used by any one thread.
  /// Errors: lane_differs (names the key) if model, backend, weights, numerics or dtype differ; bad_manifest;
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
  const Breakpoints& breakpoints() const { return m_breakpoints; }
  Watches& watches() { return m_watches; }
  const Watches& watches() const { return m_watches; }
  Notes& notes() { return m_notes; }
  const Notes& notes() const { return m_notes; }
  Past& past() { return m_past; }
  const std::vector<Action>& pending() const { return m_pending; }

  // --- the funnel -----------------------------------------------------------------------------------
  /// Error (code broken) after a failure that lost rows. A broken session can be rebuilt, saved or closed.
  Status usable() const;
  /// usable(), and no tick is open.
  Status changeable() const;
  /// Generates, applies, verifies, publishes. If the report has ok == false, either nothing has changed and actions are
  /// still pending, or only the token was added (report.token is set), or the session is broken.
  /// With stops the tick may stay open. The report then has the work of the tick so far.
  TickReport tick(TickWish wish, const StageStop& stops = {});
  /// A report for a tick that was refused.
  TickReport refused(Error error) const;
  /// Goes on with the open tick. Errors of the report: no_tick_open, and those of tick().
  TickReport stepStage(const StageStop& stops);
  /// Throws the open tick away; nothing has changed then. Errors: no_tick_open, tick_committed.
  Status cancelTick();
  /// The progress of the open tick; null = no tick is open.
  const std::shared_ptr<const StageView>& stage() const { return m_stage; }
  /// The present state with what waits for the commit of the open tick: the computed tokens of a block, and the rows of
  /// a plan, which have no slots yet.
  const CacheState& withPending() const;
  /// Error (code tick_open) while a tick is open, which then must end first.
  Status noOpenTick() const;
  /// True if a tick without tokens and actions would change something.
  bool wantsTick();
  enum class Check : std::uint8_t { None, AsInTicks, Full };
  /// Calls `makes` and makes the returned commit the next state; then checks and publishes.
  Status change(const std::function<Result<Commit>(CallContext&)>& makes, Check check = Check::AsInTicks);
  /// Computes every row again, which repairs a broken session. A cancelled rebuild leaves each layer whole.
  Result<RebuildOutcome> rebuild();
  /// Calls `reads` with the context that a pass needs; the state does not change, and no armed fault fires.
  template <class F>
  auto look(F&& reads) {
    Trace trace;
    CallContext call = callContext(trace);
    const CommitDeeds::Aside aside(m_parts.store.deeds());
    const ClosedDoor closed(m_parts.faults);
    return reads(call);
  }
  /// Replaces the present state by an equivalent one, see History::refine().
  void refine(CacheState state) { m_history.refine(std::move(state)); }
  /// Goes to an entry of the timeline: restores its kept state, or executes commands again from the nearest state
  /// before it that there is. With a witness the entry must lie behind the present one: everything between them is
  /// executed again, and the witness is called behind each commit, when readers may query the session. `branch`: the
  /// branch to go on with, on which the entry lies.
  Status travel(int entry, std::function<void()> witness = {}, std::optional<int> branch = {});
  /// Removes all rows and zeroes the freed slots.
  Status reset();
  void setPending(std::vector<Action> actions) { m_pending = std::move(actions); }
  /// Marks rows as lost; only a rebuild restores them.
  void markBroken(const std::string& reason);
  /// Rows of the present state were lost: history forgets the states that share them, and all slots but those of the
  /// present rows are free.
  void loseRows();
  /// Runs every invariant once and publishes.
  const std::vector<InvariantState>& check(bool full);
  /// The object that runs one tick of this session.
  Ticker ticker(CallContext& call) const { return {call, m_revisers, wantsAllAttention()}; }

  // --- what readers see -----------------------------------------------------------------------------
  Publisher& publisher() { return m_publisher; }
  SnapshotPtr snapshot() const { return m_publisher.snapshot(); }
  void publish();
  void setPublish(std::function<void(SnapshotPtr)> publish) { m_publisher.setReceiver(std::move(publish)); }
  /// Receives the progress of long calls and can cancel them.
  void setProgress(Progress progress) { m_progress = std::move(progress); }
  const Progress& progress() const { return m_progress; }
  /// Called between two ticks of a long verb, when the session is consistent and readers may query it.
  void setBetweenTicks(std::function<void()> between) { m_betweenTicks = std::move(between); }
  void betweenTicks() const {
    if (m_betweenTicks && !m_history.replaying()) m_betweenTicks();
  }

 private:
  /// like: a session with the same description, or null.
  explicit Session(SessionParts parts, const Session* like = nullptr);
  void beginLog();
  CallContext callContext(Trace& trace);
  void beginDeeds();
  std::vector<Action> takePending(std::optional<std::size_t> place, std::vector<Action>& rest);
  bool wantsAllAttention() const { return state().tick.value() < m_watching.attentionUntil; }
  friend class CallMark;  // brings back the state before a refused call
  TickReport inTick(const std::function<TickReport()>& makes);
  TickReport begun(TickWish wish, const StageStop& stops);
  TickReport goOn(std::unique_ptr<OpenTick> tick, const StageStop& stops);
  void stay(std::unique_ptr<OpenTick> tick);
  void reopen(Reopening back);
  bool advance(OpenTick& tick, bool mayStop);
  static std::string verbOf(const OpenTick& tick);
  nlohmann::json againOf(const OpenTick& tick) const;
  bool fail(OpenTick& tick, Error error);
  bool close(OpenTick& tick);
  void commit(Commit commit);
  static constexpr const char* kCallRefused = "the call was refused";
  Status committed(Commit made);
  bool takenBack();
  bool undone();
  void mend();
  void recover(OpenTick& tick, bool whole);
  void verify(Trace& trace, TickReport& report);
  /// How far a check goes.
  struct Extent {
    bool full = false;
    std::int64_t part = 0;             // slice of the rows, -1 = none
    const CacheState* left = nullptr;  // the state that the session came from without a commit
    bool passed = false;               // that one did, and the rows lie where they lay
    bool late = false;                 // as CheckInput
  };
  std::vector<Violation> runChecks(const Extent& extent);
  bool leftRowsAlone() const;
  std::vector<Violation> checkChange(const CacheState* left = nullptr, bool passed = false);
  void takeOps(Trace& trace);
  TickReport finish(TickReport report, Trace& trace);
  void startOver();
  void startWith(History::Beginning beginning, AlignmentLog alignment);
  Status reach(int entry);
  Status walk(int entry);
  Result<Timeline> startAt(int entry);
  struct Whereabouts {
    int entry;
    std::shared_ptr<const Anchor> anchor;
  };
  Whereabouts whereabouts() const { return {timeline().currentId(), takeAnchor(m_parts, state())}; }
  Status replay(int entry, int from, const Whereabouts& back);

  SessionParts m_parts;
  Revisers m_revisers;
  History m_history;
  std::vector<Action> m_pending;
  std::unique_ptr<OpenTick> m_open;  // null while no tick is stopped
  std::shared_ptr<const StageView> m_stage;
  Health m_health;
  Watching m_watching;
  Breakpoints m_breakpoints;
  Watches m_watches;
  Notes m_notes;
  Past m_past;
  Publisher m_publisher;
  Progress m_progress;
  std::function<void()> m_betweenTicks, m_witness;
  std::int32_t m_witnessed = 0;  // depth of the entry that the witness has seen last
};

}  // namespace kvlab
