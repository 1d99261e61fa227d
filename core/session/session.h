// SPDX-License-Identifier: Apache-2.0
// One session: a model, a cache with its mirror, and the tick that changes both. Owned by the engine
// thread, which alone calls it. Two sessions share nothing but files mapped read-only. A call that
// fails leaves the session as it was unless it says otherwise.
#pragma once
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "core/analysis/exactness.h"
#include "core/analysis/lifespans.h"
#include "core/analysis/quantisation.h"
#include "core/analysis/rebuild.h"
#include "core/api/lifespan_view.h"
#include "core/api/manifest.h"
#include "core/api/snapshot.h"
#include "core/api/tile.h"
#include "core/check/invariant.h"
#include "core/edit/planner.h"
#include "core/edit/transaction.h"
#include "core/model/decoder/sampler.h"
#include "core/policy/compressor.h"
#include "core/policy/pruner.h"
#include "core/session/breakpoints.h"
#include "core/session/timeline.h"
#include "core/session/wlod_parts.h"

namespace kvlab {

struct CacheImport;
class CaptureLog;

/// A recorded verb, as history and captures execute it again.
struct PastCommand {
  std::string verb;
  nlohmann::json args;
  std::int64_t commits = 0;
  int last = -1;  // entry of the timeline that its last commit made
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> open(const Manifest& manifest, const std::string& resources,
                                               const Progress& progress = {});
  ~Session();
  /// A second session in the present state, for any thread: it shares nothing but the model. Its
  /// history holds the commands that led here and no older state, so going back executes them again.
  Result<std::unique_ptr<Session>> fork() const;
  /// An empty session with another manifest over the same model, weights and back end, for any thread.
  /// Errors: lane_differs (names the key) where model, back end, weights, numerics or dtype are others;
  /// bad_manifest; out_of_memory.
  Result<std::unique_ptr<Session>> beside(Manifest manifest) const;

  const Manifest& manifest() const { return m_manifest; }
  const Model& model() const { return *m_model; }
  const CacheState& state() const { return m_state; }
  const CacheStore& store() const { return m_store; }
  const LayoutSet& layouts() const { return m_layouts; }
  const Timeline& timeline() const { return m_timeline; }
  const std::vector<Action>& pending() const { return m_pending; }
  SessionState status() const { return m_status; }
  std::int64_t capacity() const { return m_capacity; }
  std::int64_t position() const { return m_state.length(); }  // FT-022: tokens written
  std::int64_t remaining() const { return m_capacity - position(); }
  bool isFull() const { return remaining() <= 0; }
  std::int32_t maxPhases() const { return m_maxPhases; }  // phases run below this

  // --- the tick -----------------------------------------------------------------------------------
  /// Generates (or takes) one token, applies it with all pending actions, verifies, publishes. A
  /// report with ok == false tells what failed; then nothing has changed and what was pending still
  /// is, or only the token was added (report.token set), or the session is broken (status()).
  /// With ring.block_tokens above 1: a block of so many tokens, or of those given, which is committed or
  /// rejected whole.
  TickReport step(const std::vector<TokenId>& forced = {});
  /// The token that step() would generate first; fresh logits are all that changes. Errors: empty, and
  /// those of the query pass.
  Result<TokenId> peek();
  /// The pending action that stands highest, alone and without generating; a step where none is left.
  TickReport stepAction();
  /// All pending actions, without generating.
  TickReport apply();
  /// Steps until a breakpoint holds, a tick fails, an end-of-text token appears, maxTicks are done
  /// or the run is cancelled.
  std::vector<TickReport> run(int maxTicks, std::string& stoppedBy);
  /// Appends tokens (a prompt, or with last == false a part of one) in one commit. Policies evict when the
  /// prompt ends.
  TickReport append(const std::vector<TokenId>& tokens, Source source, bool last = true);
  /// Ends a prompt that came in parts: a commit where policies evict rows, else nothing.
  TickReport endPrefill();
  /// Another policy for a layer (-1 = all), in force from the next tick on: a commit. Errors: bad_manifest.
  Status setPolicy(int layer, const PolicySpec& spec);
  /// What the oracle policy knows where it names no record: from the next tick on; no commit.
  void setFuture(std::shared_ptr<const FutureMass> future);

  // --- wLOD (semantics.md, section 8); refused with no_wlod in sessions without ------------------------
  /// A round of the focus allocator, whatever is due: a commit.
  TickReport refocus();
  /// What the lens `script` goes by: one score per entry, -1 .. 1, above 0 = wants detail; a commit. Errors:
  /// bad_scores.
  Status setLensScores(std::vector<double> scores);
  /// Appends tokens that may be taken back; until then nothing but tokens may be added.
  TickReport speculate(const std::vector<TokenId>& tokens);
  /// Keeps the speculative span, or takes it back: then all is as it was before. A commit. Errors: no_draft.
  Status endDraft(bool keep);
  /// What recomputing costs on this machine, as its passes have shown.
  RecomputeCosts wlodCosts() const { return m_wlod->costs.costs(m_state.wlod->rules.costs); }
  /// null without wLOD.
  std::shared_ptr<const WlodView> wlodView() const;

  // --- requests -----------------------------------------------------------------------------------
  /// Checks the pending list with these behind it and queues them; nothing is queued on error.
  Status inject(std::vector<Action> actions);
  void clearPending();
  /// What the actions would do on top of the pending ones. An error counts its action in the given list.
  Result<EditPlan> plan(const std::vector<Action>& actions) const;
  Status setBrightness(LedgerId id, double value);
  Status pin(LedgerId id, bool on);
  /// Turns op events on or off, as the manifest's op_events does at the start.
  void setOpEvents(bool on);
  Breakpoints& breakpoints() { return m_breakpoints; }

  // --- history ------------------------------------------------------------------------------------
  Status undo();
  Status redo();
  Status goTo(Tick tick);
  /// Runs a recorded command; the verbs register themselves here so that history can replay them.
  using Execute = std::function<Result<nlohmann::json>(Session&, const std::string&, const nlohmann::json&)>;
  void setExecute(Execute execute) { m_execute = std::move(execute); }
  /// Names the command that the next commits belong to.
  void beginCommand(std::string verb, nlohmann::json args);
  /// The commands on the way from the start to an entry of the timeline.
  std::vector<PastCommand> commands(int entry) const;
  /// Executes a recorded command up to the commits it made then. Errors: the command's own, and
  /// not_replayed where it makes fewer.
  Result<nlohmann::json> executeAgain(const PastCommand& command);

  /// A file that every command is appended to; null = none.
  void setCapture(std::unique_ptr<CaptureLog> log);
  CaptureLog* capture() { return m_capture.get(); }
  bool replaying() const { return m_replaying; }              // history is being executed again
  bool executingAgain() const { return m_commitsLeft >= 0; }  // a recorded command

  // --- truth --------------------------------------------------------------------------------------
  Result<RebuildOutcome> rebuildRows();
  Result<Drift> measureDrift();
  /// Error of each stored row against what was computed for it; kept until the state changes.
  Result<Quantisation> measureQuantisation();
  /// How long keys are looked at when nothing is evicted; reads no live row.
  Result<Lifespans> recordLifespans(const LifespanRules& rules);
  /// Lifespans that gates predicted beside those that a fresh pass finds; kept until the next time. At most `points`
  /// of each head are kept to draw. Errors: no_gates, and those of recordLifespans.
  Result<std::shared_ptr<const LifespanView>> measureLifespans(std::size_t points);
  /// The last measurement; null before.
  const std::shared_ptr<const LifespanView>& lifespans() const { return m_lifespans; }
  std::vector<InvariantState> checkInvariants(bool full);
  std::string stateHash() const;
  /// Injects a corruption or arms a failure; refused unless the manifest opens the door.
  Result<nlohmann::json> fault(const std::string& kind, const nlohmann::json& params);
  /// Fresh logits and attention of the last row; the state's own unless an edit made them stale.
  Status refreshLogits(Trace& trace);
  /// How each layer's rows are stored, [layers]; layers that are alike share one.
  std::vector<std::shared_ptr<const StorageView>> storage() const;
  /// Another layout or other row formats for some layers (-1 = all), with the content kept: a commit.
  /// An empty name leaves what there is. Errors: bad_manifest, out_of_memory; nothing has changed then.
  Status setLayout(int layer, const std::string& layout);
  Status setFormat(int layer, const std::string& k, const std::string& v);
  /// Pools for so many rows per layer, with the content kept: what a policy has freed goes back to the system. A
  /// commit. Errors: capacity (a layer holds more rows, or the rotary table does not reach), out_of_memory.
  Status setCapacity(std::int64_t rows);
  /// Paged layers: fills pages by moving about `most` rows per layer. Older states are forgotten; history executes
  /// their commands again.
  Result<Compaction> compact(std::int64_t most);
  /// What the policy of a layer last thought of its rows, [rows]; not-a-number where it did not ask.
  std::vector<float> scores(int layer) const;
  /// Attention of the last row by query head in one layer: [heads][rows] of its residency map.
  Result<std::vector<std::vector<float>>> attentionPerHead(Layer layer);
  /// Forgets all rows and zeroes what it gives back (FT-022).
  Status reset();
  /// Replaces the session's content by a cache read from a file, as one commit. Rows that were live
  /// become deleted, unless the file brings a ledger of its own; the next tick refreshes the logits.
  Status importRows(const CacheImport& rows);

  // --- what the window sees -----------------------------------------------------------------------
  SnapshotPtr snapshot() const { return m_snapshot; }
  /// Attention that did not come to the host is looked for once more, by a pass that changes nothing.
  /// Errors: out_of_range, and those of that pass, here and now.
  Result<std::unique_ptr<PendingTile>> tile(const TileRequest& request);
  /// From now on every pass brings the newest row's attention in every layer. Else the last layer's comes, which
  /// brightness lives on, and the others' where a policy looks at it or somebody asked for a tile of it in the last
  /// ticks.
  void keepAttention() { m_attentionUntil = std::numeric_limits<std::int64_t>::max(); }
  const ExactnessMap& exactnessMap() const;
  void setPublish(std::function<void(SnapshotPtr)> publish) { m_publish = std::move(publish); }
  /// Publishes the state with a serial beyond that one, for readers who come from a session that went further.
  void publishAfter(std::uint64_t serial);
  /// Where long work reports and learns that it should stop.
  void setProgress(Progress progress) { m_progress = std::move(progress); }
  /// Called in the middle of long verbs, between two ticks, where the session is whole and others may look at it; not
  /// while history is being executed again.
  void setBetweenTicks(std::function<void()> between) { m_betweenTicks = std::move(between); }
  void betweenTicks() const {
    if (m_betweenTicks && !m_replaying) m_betweenTicks();
  }

  // --- for the verbs ------------------------------------------------------------------------------
  const CacheLayers& cacheLayers() const { return m_cacheLayers; }
  /// Error (code unsupported) where residency is by KV head, and in wLOD sessions; `what` begins it.
  Status layersWhole(const char* what) const;
  /// Error (code unsupported) in wLOD sessions; `what` begins it.
  Status withoutWlod(const char* what) const;
  Transformer& transformer() { return *m_transformer; }
  const Transformer& transformer() const { return *m_transformer; }
  FaultDoor& faults() { return m_faults; }
  std::string text(LedgerId id) const;

 private:
  Session();
  Status build(const std::string& resources, const Progress& progress);
  Result<std::unique_ptr<Session>> sibling(Manifest manifest, Manifest opened) const;
  Status chooseBackend(const std::string& id, const std::string& numerics);
  Status restore(Manifest wanted);
  std::vector<std::int32_t> windows() const;
  std::int64_t rowsNeeded(int layer) const;
  Status freshStorage();
  Status planStorage(LayoutSet& layouts, std::vector<kernels::RowFormat>& formats,
                     const PolicyState* decided = nullptr) const;
  Status planMemory(const std::vector<LayerPool>& pools) const;
  Status equip(const Progress& progress);
  void startState();
  std::shared_ptr<SessionInfo> describe() const;

  PlanRules planRules(Source addSource) const;
  TransactionRules transactionRules() const;
  std::vector<Action> takePending();
  TickReport runPending(bool generates, const std::vector<TokenId>& forced, Source source,
                        std::optional<std::size_t> place = {});
  TickReport runTick(bool generate, const std::vector<TokenId>& forced, std::vector<Action> actions, Source addSource,
                     PassKind pass);
  Result<TokenId> generate(std::optional<TokenId> forced, CacheState& observed, Trace& trace);
  std::vector<Action> cullActions(const CacheState& observed, const std::vector<Action>& pending);
  /// The tokens of a tick on their way: all but the last are computed and wait for the commit.
  struct Block {
    std::optional<Applied> waiting = {};
    bool last = true;
  };
  Status runToken(std::optional<TokenId> forced, std::vector<Action> actions, Source addSource, PassKind pass,
                  Block& block, CacheState& observed, Trace& trace, TickReport& report);
  void reject(Block& block);
  void mend();
  Status applyPlanned(const CacheState& observed, std::vector<Action> actions, Source addSource, PassKind pass,
                      Block& block, Trace& trace, TickReport& report);
  Result<Applied> applyPolicies(Applied applied, PassKind pass, Transaction& transaction, Trace& trace,
                                TickReport& report);
  Status wlodPossible() const;
  Status equipWlod();
  WlodRules wlodRules() const;
  std::shared_ptr<const WlodState> startWlod() const;
  WlodTransaction wlodTransaction() { return WlodTransaction(*m_transformer, m_store, m_faults, *m_wlod->gists); }
  WlodMirrorRules mirrorRules(double memory) const;
  Status focus(CacheState& observed, std::int32_t adds, std::vector<Action>& actions, Trace& trace) const;
  bool focusPays() const;
  Status applyWlod(CacheState observed, std::vector<Action> actions, Source addSource, PassKind pass, Trace& trace,
                   TickReport& report);
  Result<WlodApplied> rebuiltWlod(Trace& trace);
  Result<RebuildOutcome> rebuildWlod();
  Result<Drift> wlodDrift();
  Status policiesPossible(const std::vector<PolicySpec>& specs) const;
  Result<std::shared_ptr<const GateWeights>> gatesFor(const std::vector<PolicySpec>& specs);
  std::string gatesPath(const std::string& file) const;
  Result<std::shared_ptr<const FutureMass>> futureFor(const std::vector<PolicySpec>& specs);
  std::vector<PolicySpec> policiesWanted() const;
  std::shared_ptr<const PolicyState> startPolicies() const;
  Status finishImport(CacheState state, const CacheImport& rows, LayerSlots added, bool over);
  Status reobserve(TokenId token, CacheState& base, Trace& trace);
  void recover(const CacheState& observed, std::optional<TokenId> token, bool forced, Trace& trace, TickReport& report);
  void commit(CacheState state, LayerSlots added, LayerSlots freed, std::int64_t moved);
  void record(CacheState state, LayerSlots added, LayerSlots freed);
  void verify(Trace& trace, TickReport& report);
  std::vector<Violation> runChecks(bool full, std::int64_t part);
  TickReport finish(TickReport report, Trace& trace);
  TickReport refused(Error error) const;
  Status usable() const;
  Status select(int entry);
  Status replay(int entry);
  std::vector<std::vector<std::uint8_t>> copyRows() const;
  void restoreRows(const std::vector<std::vector<std::uint8_t>>& rows);
  void breakSession(const std::string& reason);
  void publish();
  Status lookForAttention(int first, int layers);
  const std::vector<TokenChance>& likeliest();
  void fillTile(Quantity quantity, int layer, std::int32_t begin, std::span<float> out) const;

  Manifest m_manifest;
  Manifest m_opened;  // as the session was opened: what history starts from
  std::shared_ptr<const Model> m_model;
  std::string m_resources;
  std::shared_ptr<kernels::Backend> m_backend;                         // outlives what follows
  std::vector<std::shared_ptr<const GateWeights>> m_gates;             // that were asked for
  std::map<std::string, std::shared_ptr<const FutureMass>> m_records;  // by file, likewise
  std::shared_ptr<const PlacedWeights> m_weights;
  std::unique_ptr<Transformer> m_transformer;
  CacheStore m_store;
  LayoutSet m_layouts;
  FaultDoor m_faults;
  std::unique_ptr<Sampler> m_sampler;
  std::unique_ptr<NearestCompressor> m_compressor;
  CacheLayers m_cacheLayers;
  std::optional<WlodParts> m_wlod;
  bool m_drafting = false;  // the tokens that are being appended may be taken back
  std::int64_t m_capacity = 0;
  std::int32_t m_maxPhases = 0;

  CacheState m_state;
  Timeline m_timeline;
  std::vector<Action> m_pending;
  SessionState m_status = SessionState::Empty;
  std::string m_brokenReason;
  Breakpoints m_breakpoints;
  std::vector<InvariantState> m_invariants;
  std::shared_ptr<const TickReport> m_report;
  std::optional<Drift> m_drift;                        // of the present state
  std::optional<Quantisation> m_quantisation;          // likewise
  std::shared_ptr<const NewestAttention> m_attention;  // likewise, in every layer; null = nobody asked
  std::int64_t m_attentionUntil = -1;                  // ticks that bring it by themselves
  mutable std::optional<ExactnessMap> m_exactness;     // of the present state
  std::shared_ptr<const LifespanView> m_lifespans;     // of some earlier state
  std::uint64_t m_lifespanSerial = 0;
  std::int64_t m_bytesMoved = 0, m_checks = 0;
  std::string m_verb;  // the command being executed
  nlohmann::json m_args;
  bool m_replaying = false;
  std::int64_t m_commitsLeft = -1;  // that the command may still make; -1 = any number

  std::shared_ptr<const SessionInfo> m_info;
  SnapshotPtr m_snapshot;
  std::shared_ptr<const std::vector<float>> m_likeliestOf;  // logits
  std::vector<TokenChance> m_likeliest;
  std::uint64_t m_serial = 0;
  std::function<void(SnapshotPtr)> m_publish;
  Progress m_progress;
  std::function<void()> m_betweenTicks;
  Execute m_execute;
  std::unique_ptr<CaptureLog> m_capture;
};

}  // namespace kvlab
