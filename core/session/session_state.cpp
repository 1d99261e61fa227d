// SPDX-License-Identifier: Apache-2.0
// What is true of a session now: rebuild, drift, invariants, faults, and what a snapshot says.
#include <algorithm>
#include <numeric>

#include "core/check/fault_drill.h"
#include "core/files/fingerprint.h"
#include "core/model/decoder/backend_status.h"
#include "core/session/session.h"
#include "core/session/state_hash.h"

namespace kvlab {
namespace {
constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
}  // namespace

Result<RebuildOutcome> Session::rebuildRows() {
  if (m_state.wlod) return rebuildWlod();
  const bool cachePhases = m_manifest.position == PositionMode::Cache;
  const RebuildInput input{m_state, *m_transformer, m_faults, cachePhases};
  Result<RebuildOutcome> outcome = rebuild(input, m_store, m_progress);
  if (!outcome && outcome.error().code == "fault") outcome = rebuild(input, m_store, m_progress);
  if (!outcome) {
    breakSession(outcome.error().text());
    publish();
    return outcome.error();
  }
  CacheState state = m_state;
  state.tick = Tick(m_state.tick.value() + 1);
  if (!outcome->cancelled) {
    refreshProvenance(state, cachePhases);
    state.edited = false;
    state.rotations.clear();
    state.logits = std::make_shared<const std::vector<float>>(outcome->logits);
    if (state.length() == 0) state.logits = nullptr;
    // The attention of the newest query belongs to the old rows; the next tick reads it anew.
    state.logitsStale = state.length() > 0;
  }
  record(std::move(state), {}, {});
  // Older states name the same slots, whose rows are new now.
  m_timeline.dropAll(m_store, !m_layouts.inPlace());
  checkInvariants(true);
  return outcome;
}

Result<Drift> Session::measureDrift() {
  if (m_state.wlod) return wlodDrift();
  Trace trace;
  if (Status fresh = refreshLogits(trace); !fresh) return fresh.error();
  const RebuildInput input{m_state, *m_transformer, m_faults, m_manifest.position == PositionMode::Cache};
  std::span<const float> logits;
  if (m_state.logits) logits = *m_state.logits;
  Result<Drift> measured = drift(input, m_store, logits, m_progress);
  if (!measured) return measured.error();
  m_drift = *measured;
  publish();
  return measured;
}

Status Session::layersWhole(const char* what) const {
  if (Status possible = withoutWlod(what); !possible) return possible;
  if (!m_cacheLayers.byHead()) return ok();
  return Error{"unsupported",
               what,
               "it takes rows with all KV heads together, and here residency is by KV head",
               "use a session with residency layer",
               std::nullopt,
               "residency",
               "kv_head"};
}

Result<Lifespans> Session::recordLifespans(const LifespanRules& rules) {
  if (Status usableNow = usable(); !usableNow) return usableNow.error();
  if (Status possible = layersWhole("no lifespans were recorded"); !possible) return possible.error();
  const RebuildInput input{m_state, *m_transformer, m_faults};
  Result<Lifespans> recorded = kvlab::recordLifespans(input, m_store, rules, m_progress);
  if (recorded) recorded->model = modelFingerprint(*m_model);
  return recorded;
}

Result<Quantisation> Session::measureQuantisation() {
  if (Status usableNow = usable(); !usableNow) return usableNow.error();
  if (Status possible = layersWhole("quantisation was not measured"); !possible) return possible.error();
  const RebuildInput input{m_state, *m_transformer, m_faults, m_manifest.position == PositionMode::Cache};
  Result<Quantisation> measured = kvlab::measureQuantisation(input, m_store, m_progress);
  if (!measured) return measured;
  m_quantisation = *measured;
  publish();
  return measured;
}

Status Session::refreshLogits(Trace& trace) {
  if (!m_state.logitsStale || m_state.length() == 0) return ok();
  m_timeline.makeRoom(m_store, 1, m_manifest.historyBytes);
  Transaction transaction(m_transformer.get(), m_store, m_layouts, m_faults);
  Result<CacheState> fresh = transaction.query(m_state, transactionRules(), trace);
  if (!fresh) return fresh.error();
  m_state = fresh.take();
  return ok();
}

Result<std::vector<std::vector<float>>> Session::attentionPerHead(Layer layer) {
  std::vector<std::vector<float>> out;
  if (m_state.length() == 0) return out;
  if (Status possible = withoutWlod("attention by head was not measured"); !possible) return possible.error();
  m_timeline.makeRoom(m_store, 1, m_manifest.historyBytes);
  TransactionRules rules = transactionRules();
  rules.wanted.newestPerHead = InLayers::All;
  Trace trace;
  Transaction transaction(m_transformer.get(), m_store, m_layouts, m_faults);
  Result<CacheState> seen = transaction.query(m_state, rules, trace);
  if (!seen) return seen.error();
  const std::vector<float>& all = seen->attention->perHead[at(layer.value())];
  const std::size_t rows = m_state.map(layer.value()).size();
  for (int head = 0; head < m_model->config().heads / m_cacheLayers.perLayer; ++head) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at(head) * (rows + 1));
    out.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(rows));
  }
  return out;
}

/// Every invariant once, and what that says of each.
std::vector<Violation> Session::runChecks(bool full, std::int64_t part) {
  std::vector<Violation> violations =
      checkAll({m_state, m_store, m_manifest, m_capacity, full, part, m_model->config().vocab});
  // Rows that could not be read are not rows that hold.
  if (Status read = backendStatus(*m_backend, "reading the rows"); !read)
    violations.push_back({"row_checksums", read.error().text()});
  for (InvariantState& invariant : m_invariants) {
    const auto found = std::find_if(violations.begin(), violations.end(),
                                    [&](const Violation& v) { return v.invariant == invariant.id; });
    invariant.ok = found == violations.end();
    invariant.detail = invariant.ok ? "" : found->detail;
    if (invariant.ok) invariant.lastPass = m_state.tick;
    else if (!invariant.firstFailure) invariant.firstFailure = m_state.tick;
  }
  return violations;
}

std::vector<InvariantState> Session::checkInvariants(bool full) {
  runChecks(full, 0);
  publish();
  return m_invariants;
}

std::string Session::stateHash() const { return kvlab::stateHash(m_state, m_store, m_pending); }

Result<nlohmann::json> Session::fault(const std::string& kind, const nlohmann::json& params) {
  if (!m_manifest.faults)
    return Error{"door_closed",
                 "the fault was refused",
                 "the fault drill is closed",
                 "open the session with \"faults\": true",
                 std::nullopt,
                 "faults",
                 false};
  CacheState state = m_state;
  Result<nlohmann::json> done = injectFault(kind, params, state, m_store, m_faults);
  if (!done) return done;
  if (m_faults.armed()) return done;
  // What is damaged cannot be taken back by naming older rows: undo executes the commands again.
  record(std::move(state), {}, {});
  m_timeline.dropAll(m_store, false);
  publish();
  return done;
}

Status Session::reset() {
  for (int layer = 0; layer < m_store.layers(); ++layer) {
    // Every slot that was ever handed out: rows that history kept count, too.
    std::vector<std::int32_t> slots(at(m_store.slots(layer).untouched()));
    std::iota(slots.begin(), slots.end(), 0);
    m_store.pool(layer).zero(slots);
  }
  m_faults.disarm();
  startState();
  return ok();
}

std::string Session::text(LedgerId id) const { return m_model->tokenizer().tokenText(m_state.ledger[id].token); }

const ExactnessMap& Session::exactnessMap() const {
  if (!m_exactness && m_state.wlod) m_exactness = exactnessOf(*m_state.wlod);
  if (!m_exactness) {
    CacheState state = m_state;
    m_exactness = exactness(state, m_manifest.position == PositionMode::Cache);
  }
  return *m_exactness;
}

/// Of the present logits; looked for once, as a vocabulary is long and snapshots are many.
const std::vector<TokenChance>& Session::likeliest() {
  if (m_likeliestOf == m_state.logits) return m_likeliest;
  m_likeliest.clear();
  for (const Candidate& c : topCandidates(*m_state.logits, 20))
    m_likeliest.push_back({c.id, c.p, m_info->tokenTexts[at(c.id.value())]});
  m_likeliestOf = m_state.logits;
  return m_likeliest;
}

void Session::publishAfter(std::uint64_t serial) {
  m_serial = std::max(m_serial, serial);
  publish();
}

void Session::publish() {
  if (m_replaying) return;
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->info = m_info;
  snapshot->serial = ++m_serial;
  snapshot->tick = m_state.tick;
  snapshot->state = m_status;
  snapshot->brokenReason = m_brokenReason;
  snapshot->context = m_state.context;
  snapshot->ledger = m_state.ledger;
  for (int layer = 0; layer < m_state.layers(); ++layer) snapshot->layers.push_back(m_state.group(layer).map);
  if (m_publish && m_state.edited && m_manifest.probes) {  // looks at every row of every map: for those who see it
    const ExactnessMap& map = exactnessMap();
    if (!map.layers.empty()) snapshot->exactness = std::make_shared<const std::vector<Exactness>>(map.layers.back());
  }
  snapshot->report = m_report;
  if (m_state.logits && m_manifest.probes) snapshot->topk = likeliest();
  snapshot->logitsStale = m_state.logitsStale;
  snapshot->invariants = m_invariants;
  snapshot->pending = m_pending;
  snapshot->storage = storage();
  for (int layer = 0; layer < m_store.layers(); ++layer) {
    const RowPool& pool = m_store.pool(layer);
    snapshot->bytes.allocated += pool.stride() * m_layouts.slotsWithoutHistory(layer);
    snapshot->bytes.live += pool.stride() * static_cast<std::int64_t>(m_state.group(layer).stored().resident());
  }
  snapshot->bytes.moved = m_bytesMoved;
  snapshot->wlod = wlodView();
  if (m_state.policy) snapshot->policies = {m_state.policy, &m_state.policy->audit};
  if (m_drift) snapshot->kl = m_drift->kl;
  snapshot->branch = m_timeline.branch();
  snapshot->canUndo = m_timeline.canUndo();
  snapshot->canRedo = m_timeline.canRedo();
  m_snapshot = std::move(snapshot);
  if (m_publish) m_publish(m_snapshot);
}

}  // namespace kvlab
