// SPDX-License-Identifier: Apache-2.0
#include "core/session/layout_advice.h"

#include <chrono>
#include <cstdio>

#include "core/session/session.h"
#include "core/session/storage.h"
#include "kernels/backend/backend.h"

namespace kvlab {
namespace {

constexpr int kLookedAt = 64;    // entries of the timeline
constexpr int kMostCommits = 8;  // that are tried
constexpr int kFewest = 3;       // commits that a cost is told of
constexpr double kFelt = 0.05;   // share of the ticks' time

/// A commit that moved rows, with the states before and behind it.
struct MovingCommit {
  const CacheState &before, &after;
  double us, tickUs;
  std::int64_t bytes;
};

/// The newest first.
std::vector<MovingCommit> movingCommits(const Session& session) {
  std::vector<MovingCommit> out;
  const Timeline& line = session.timeline();
  int id = line.currentId();
  for (int looked = 0; looked < kLookedAt && std::ssize(out) < kMostCommits; ++looked) {
    const Timeline::Entry& one = line.entry(id);
    if (one.parent < 0 || !one.kept || one.kept->stored) break;  // other pools before it
    const CacheState* const before = line.entry(one.parent).state();
    if (!before) break;
    id = one.parent;
    if (!one.report) continue;
    MovingCommit commit{*before, one.kept->state, 0, 0, 0};
    for (const Event& event : one.report->events) {
      if (event.depth == 0) commit.tickUs += event.us;
      if (event.name != "commit") continue;
      commit.us += event.us;
      commit.bytes += event.bytes;
    }
    if (commit.bytes > 0) out.push_back(commit);
  }
  return out;
}

/// Rows of a group behind a commit, in the slots of a trial: [rows] slots of those that were there before, and the rows
/// that came.
struct RowsBehind {
  std::vector<Slot> slots;         // -1 = the row came, or had left through the window
  std::vector<std::size_t> fresh;  // ascending
  std::int32_t first = 0, tail = 0;
  bool appended = false, lastLeaves = false;
};

RowsBehind rowsBehind(const ResidencyView& before, const ResidencyView& after, std::size_t ledgerRows) {
  std::vector<std::int32_t> indexOf(ledgerRows, -1);
  for (std::size_t i = 0; i < before.size(); ++i) indexOf[at(before.ledger[i].value())] = static_cast<std::int32_t>(i);
  RowsBehind out;
  std::size_t stayed = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::int32_t index = indexOf[at(after.ledger[i].value())];
    const bool has = index >= before.first;
    out.slots.push_back(has ? before.slotOf[at(index)] : Slot(-1));
    if (has) ++stayed;
    else if (index >= 0 || after.first > static_cast<std::int32_t>(i)) out.first = static_cast<std::int32_t>(i) + 1;
    else out.fresh.push_back(i);
  }
  for (std::size_t i = after.size(); i-- > 0 && !out.fresh.empty() && at(out.tail) < out.fresh.size() &&
       out.fresh[out.fresh.size() - 1 - at(out.tail)] == i;)
    ++out.tail;
  out.appended = stayed == before.resident() && out.fresh.size() == at(out.tail);
  out.lastLeaves = before.size() > 0 &&
      (after.size() == 0 ||
       std::ranges::find(after.ledger.span(), before.ledger[before.size() - 1]) == after.ledger.span().end());
  return out;
}

/// One layout, for one group of layers, with one layer that has the smallest rows.
class TrialPool {
 public:
  static Result<TrialPool> make(const std::string& layout, LayerDemand demand, const LayerGroup& before, Tick tick,
                                kernels::Backend& backend) {
    const kernels::RowFormat smallest{1, 2, kernels::DType::f16, kernels::DType::f16};
    TrialPool out;
    out.m_layouts = KV_TRY(LayoutSet::make({layout}, {demand}));
    out.m_store = KV_TRY(CacheStore::create(backend, out.m_layouts.pools({smallest})));
    out.m_layouts.start(out.m_state, {before.window});
    out.m_state.tick = tick;
    LayerGroup& group = out.m_state.groups.front();
    group = placedIn(before, group, out.slots(), tick);
    out.m_layouts.restart(out.m_store, out.m_state);
    return out;
  }

  bool copiesForReads() const { return m_state.groups.front().read != ReadPath::InPlace; }
  std::int64_t stride() const { return m_store.pool(kLayer).stride(); }
  const ResidencyView& map() const { return *m_state.groups.front().map; }

  /// Bytes that settle() has moved.
  Result<std::int64_t> commit(const ResidencyView& after, RowsBehind rows) {
    FaultDoor faults;
    const auto fresh = static_cast<std::int32_t>(rows.fresh.size());
    LayerSlots added =
        KV_TRY(m_layouts.reserve(m_store, m_state, fresh - rows.tail, rows.tail, rows.lastLeaves, faults));
    for (std::size_t i = 0; i < rows.fresh.size(); ++i) rows.slots[rows.fresh[i]] = added.front()[i];
    CacheState next = m_state;
    auto map = std::make_shared<ResidencyView>(after);
    map->first = rows.first;
    map->slotOf.assign(rows.slots);
    next.groups.front().map = std::move(map);
    LayerSlots freed = slotsBeside(m_state, next);
    LayoutContext context{m_store, faults};
    return m_layouts.settle(next, rows.appended, fresh, added, freed, context);
  }

 private:
  static constexpr CacheLayer kLayer{0};
  SlotAllocator& slots() { return m_store.slots(kLayer); }

  LayoutSet m_layouts;
  CacheStore m_store;
  CacheState m_state;
};

/// Adds a commit to the trial of a layout. Error: the layout is not advised.
Status addCommit(LayoutTrial& trial, const MovingCommit& commit, const Session& session, kernels::Backend& backend) {
  const std::vector<std::vector<CacheLayer>> layers = layersOf(commit.after);
  for (std::size_t g = 0; g < layers.size(); ++g) {
    if (layers[g].empty()) continue;
    const CacheLayer leader = layers[g].front();
    const LayerGroup &before = commit.before.group(leader), &after = commit.after.groups[g];
    LayerDemand demand = session.parts().layouts.demand(leader);
    demand.history = demand.rows = 0;
    demand.capacity = static_cast<std::int32_t>(std::max(before.map->size(), after.map->size()));
    demand.room = std::max(demand.room, demand.capacity);
    TrialPool pool = KV_TRY(TrialPool::make(trial.layout, demand, before, commit.before.tick, backend));
    if (pool.copiesForReads() && before.read == ReadPath::InPlace)
      return Error("unsupported", "the layout was not tried", "it copies rows for each read", "none");
    RowsBehind rows = rowsBehind(pool.map(), *after.map, commit.after.ledger.size());
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t moved = KV_TRY(pool.commit(*after.map, std::move(rows)));
    trial.us += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    for (const CacheLayer layer : layers[g])
      trial.bytes += moved / pool.stride() * session.store().pool(layer).stride();
  }
  return ok();
}

std::string figure(double value) {
  char out[32];
  std::snprintf(out, sizeof out, value < 1 ? "%.2g" : "%.1f", value);
  return out;
}

}  // namespace

std::string LayoutAdvice::text() const {
  return "your commits cost " + figure(ms) + " ms; `" + layout + "` would cost " + figure(wouldMs);
}

CommitCosts commitCosts(const Session& session) {
  CommitCosts out;
  for (const MovingCommit& commit : movingCommits(session)) {
    ++out.commits;
    out.us += commit.us;
    out.tickUs += commit.tickUs;
    out.bytes += commit.bytes;
  }
  return out;
}

std::vector<LayoutTrial> layoutTrials(const Session& session) {
  const LayoutSet& own = session.parts().layouts;
  const StorageLayout& present = own.layout(CacheLayer(0));
  std::vector<LayoutTrial> out;
  if (session.state().kind->derivesContext() || own.names() != present.name()) return out;
  const std::vector<MovingCommit> commits = movingCommits(session);
  const std::unique_ptr<kernels::Backend> backend = kernels::makeCpuBackend(1);
  for (const LayoutName& one : layouts()) {
    const Result<std::unique_ptr<StorageLayout>> layout = makeLayout(one.name);
    if (!layout || (*layout)->name() == present.name() || (*layout)->dropsMasked() != present.dropsMasked()) continue;
    LayoutTrial trial{std::string((*layout)->name())};
    bool possible = true;
    for (const MovingCommit& commit : commits) possible = possible && bool(addCommit(trial, commit, session, *backend));
    if (possible) out.push_back(std::move(trial));
  }
  return out;
}

std::optional<LayoutAdvice> adviceFrom(const CommitCosts& costs, const std::vector<LayoutTrial>& trials) {
  if (costs.commits < kFewest || costs.bytes <= 0) return std::nullopt;
  const double usPerByte = costs.us / static_cast<double>(costs.bytes);
  const auto total = [&](const LayoutTrial& one) { return one.us + usPerByte * static_cast<double>(one.bytes); };
  const auto best = std::ranges::min_element(trials, {}, total);
  if (best == trials.end()) return std::nullopt;
  const double would = total(*best);
  if (would > costs.us / 2 || costs.us - would < kFelt * costs.tickUs) return std::nullopt;
  const double toMs = 1e-3 / costs.commits;
  return LayoutAdvice{best->layout,
                      costs.commits,
                      costs.us * toMs,
                      would * toMs,
                      costs.bytes / costs.commits,
                      best->bytes / costs.commits};
}

std::optional<LayoutAdvice> layoutAdvice(const Session& session) {
  const CommitCosts costs = commitCosts(session);
  if (costs.commits < kFewest || costs.us < kFelt * costs.tickUs) return std::nullopt;
  return adviceFrom(costs, layoutTrials(session));
}

}  // namespace kvlab
