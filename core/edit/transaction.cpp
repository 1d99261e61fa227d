// SPDX-License-Identifier: Apache-2.0
#include "core/edit/transaction.h"

#include <algorithm>
#include <optional>
#include <ranges>

#include "core/bugs/bug_kind.h"
#include "core/edit/departures.h"
#include "core/edit/group_pass.h"
#include "core/edit/key_shift.h"
#include "core/edit/recompute.h"
#include "core/layout/ring_report.h"
#include "core/state/cache_store.h"
#include "core/state/provenance.h"

namespace kvlab {
namespace {

RowsJob jobOver(const CacheState& state, const TransactionRules& rules) {
  RowsJob job;
  job.context = state.context;
  job.contextSums = state.contextSums;
  job.groups = state.groups;
  job.groupOf = state.groupOf;
  job.cachePhases = rules.splice.position == PositionMode::Cache;
  job.guards = rules.guards;
  return job;
}

/// Number of rows of a map to the left of a context position.
std::size_t rowsLeftOf(const CacheState& state, const ResidencyView& map, std::int32_t cut) {
  if (state.whole(map)) return at(cut);
  std::size_t index = 0;
  for (std::int32_t p = 0; p < cut && index < map.size(); ++p)
    if (map.ledger[index] == state.context[at(p)]) ++index;
  return index;
}

/// The forward pass of one operation's new rows by the executor `descending`: operations run from the highest position
/// down, and each row is computed with the phases and the left context valid at that moment. Rows to the left of an
/// operation are still unchanged then. Its map is therefore the map before the edit, cut at the operation, followed by
/// its new rows. semantics.md, section 3 (executors). `added`: [layers][plan.rows] slots. The groups are those of
/// `after`, so rows are written to their final slots.
RowsJob descendingJob(const CacheState& before, const CacheState& after, const EditPlan& plan,
                      const PlannedAction& detail, const LayerSlots& added, PositionMode mode) {
  const std::int32_t cut = detail.anchor.value();
  const std::size_t first = at(detail.newLedger.front().value() - before.ledger.nextId().value());
  RowsJob job;
  job.context = before.context.prefix(at(cut));
  job.contextSums = before.contextSums.prefix(at(cut) + 1);
  job.groupOf = after.groupOf;
  job.cachePhases = mode == PositionMode::Cache;
  for (std::size_t i = 0; i < detail.newLedger.size(); ++i) {
    const NewRow& row = plan.rows[first + i];
    const std::int32_t position = cut + static_cast<std::int32_t>(i);
    job.rows.push_back({row.id, row.token, position, mode == PositionMode::Absolute ? row.phase : position});
    job.context.push_back(row.id);
  }
  for (std::size_t g = 0; g < after.groups.size(); ++g) {
    const auto layer = CacheLayer(static_cast<std::int32_t>(
        std::find(after.groupOf.begin(), after.groupOf.end(), static_cast<std::int32_t>(g)) - after.groupOf.begin()));
    LayerGroup group = before.group(layer);
    const std::size_t left = rowsLeftOf(before, *group.map, cut);
    auto view = std::make_shared<ResidencyView>();
    view->ledger = group.map->ledger.prefix(left);
    view->slotOf = group.map->slotOf.prefix(left);
    view->phases = group.map->phases.prefix(left);
    view->first = std::min(group.map->first, static_cast<std::int32_t>(left));
    for (std::size_t i = 0; i < job.rows.size(); ++i) {
      view->ledger.push_back(job.rows[i].id);
      view->slotOf.push_back(added[at(layer)][first + i]);
      view->phases.push_back(job.cachePhases ? static_cast<std::int32_t>(left + i) : job.rows[i].phase);
    }
    group.map = std::move(view);
    group.idSums = group.idSums.prefix(left + 1);
    group.phasedSums = group.phasedSums.prefix(left + 1);
    job.groups.push_back(std::move(group));
  }
  return job;
}

/// A prompt may overwrite old rows of a ring. An edit or a tick of several tokens may not, because its rows still read
/// the old ones.
Status roomAhead(const CacheStore& store, const CacheState& state, std::int32_t rows) {
  for (const CacheLayer layer : state.layers())
    if (state.group(layer).ring && store.slots(layer).available() < rows)
      return Error("staging", "the edit needs more free slots than there are",
                   "needed " + std::to_string(rows) + ", and the ring of layer " + state.cacheLayers().name(layer) +
                       " has " + std::to_string(store.slots(layer).available()) + " slots ahead of its pointer",
                   "make a smaller edit, take fewer tokens in a block, or raise staging or ring.window");
  return ok();
}

/// True if the map has a slot for each of these rows. Both are in the order of the context.
bool holds(const ResidencyView& map, std::span<const RowTarget> rows) {
  std::size_t i = map.size();
  for (const RowTarget& row : std::views::reverse(rows)) {
    while (i > at(map.first) && map.ledger[i - 1] != row.id) --i;
    if (i == at(map.first)) return false;
  }
  return true;
}

void append(LayerSlots& to, const LayerSlots& more) {
  for (std::size_t layer = 0; layer < more.size(); ++layer)
    to[layer].insert(to[layer].end(), more[layer].begin(), more[layer].end());
}

}  // namespace

/// One run: its inputs and its results so far.
struct Transaction::Work {
  const CacheState& before;
  const EditPlan& plan;
  const TransactionRules& rules;
  Trace& trace;
  CacheState state = {};
  LayerSlots added = {};  // [layers][new rows], then those of rows computed anew
  LayerSlots freed = {}, unused = {};
  std::vector<std::int32_t> recompute = {};              // final positions of survivors to compute again
  LayerSlots recomputeSlots = {};                        // [layers][recompute]
  std::vector<std::vector<Provenance>> provenance = {};  // [groups][new rows]
  std::vector<WrittenPhases> written = {};               // [layers], key_phase at_write
  std::int64_t turned = 0;                               // bytes
  bool overruns = false;                                 // the new rows lie where the state before has rows
  bool logitsFresh = false;

  std::size_t inserted() const { return plan.rows.size() - at(plan.adds); }
  std::size_t newRow(LedgerId id) const { return at(id.value() - before.ledger.nextId().value()); }
};

Result<Applied> Transaction::run(const CacheState& before, const EditPlan& plan, const TransactionRules& rules,
                                 Trace& trace, const Progress& progress, const Applied* earlier) {
  Work work{before, plan, rules, trace};
  {
    auto scope = trace.scope("reserve");
    const bool prompt = plan.appendsOnly() && !earlier && rules.more == 0;
    if (!prompt) KV_TRY(roomAhead(m_store, before, static_cast<std::int32_t>(plan.rows.size()) + rules.more));
    const bool lastLeaves = !plan.removed.empty() && plan.removed.back().value() == before.length() - 1;
    work.added = KV_TRY(m_layouts.reserve(m_store, before, static_cast<std::int32_t>(work.inserted()), plan.adds,
                                          lastLeaves, m_faults, rules.more));
    work.overruns = rules.pending && LayoutSet::overruns(before, work.added, earlier ? &earlier->added : nullptr, true);
  }
  {
    auto scope = trace.scope("splice");
    Spliced spliced = splice(before, plan, work.added, rules.splice);
    work.state = std::move(spliced.state);
    work.freed = std::move(spliced.freed);
    work.unused = std::move(spliced.unused);
  }
  Status done = compute(work, progress);
  std::int64_t moved = earlier ? earlier->bytesMoved : 0;
  std::int32_t rows = static_cast<std::int32_t>(plan.rows.size());
  bool appended = plan.appendsOnly();
  if (earlier) {
    rows += earlier->rows;
    appended = appended && earlier->appended;
    LayerSlots added = earlier->added;
    append(added, work.added);
    work.added = std::move(added);
    append(work.freed, earlier->freed);
  }
  work.state.tick = rules.pending ? before.tick : Tick(before.tick.value() + 1);
  if (done && rules.pending) {
    m_layouts.release(m_store, work.unused, work.added);
    m_layouts.drop(work.state, work.added, work.freed, m_store, true);  // readers see only rows that stay
  } else if (done) {
    auto scope = trace.scope("commit", m_layouts.names());
    LayoutContext context{m_store, m_faults};
    m_layouts.release(m_store, work.unused, work.added);
    Result<std::int64_t> bytes =
        m_layouts.settle(work.state, appended, rows, work.added, work.freed, context, rules.toFront);
    if (bytes) {
      scope.bytes(moved += *bytes);
      scope.rings({.commits = ringCommits(before, work.state)});
    } else {
      done = bytes.error();
    }
  }
  KV_TRY(done);
  std::vector<Evict> left =
      leaveWindows(before, work.state, plan.removed.empty() && work.inserted() == 0, Tick(before.tick.value() + 1));
  tell(left, trace);
  const bool earlierRows =
      rules.executor == Executor::Descending && plan.details.size() > 1;  // later actions change rows in front
  work.state.edited |= work.inserted() > 0 && (earlierRows || rules.newRows == NewRows::EmbeddingOnly);
  work.state.logitsStale = !work.logitsFresh && work.state.length() > 0 && (!rules.keepLogits || before.logitsStale);
  if (work.state.length() == 0) work.state.logits = nullptr;
  Applied out{{std::move(work.state), std::move(work.added), std::move(work.freed), moved + work.turned}};
  out.rewritten = work.turned > 0 || work.overruns || (earlier && earlier->rewritten);
  if (earlier) left.insert(left.begin(), earlier->left.begin(), earlier->left.end());
  out.left = std::move(left);
  out.rows = rows;
  out.appended = appended;
  if (const BugKind* bug = m_faults.bug(); bug && bug->state) {
    StateBend bend{out.state, m_store, before, out.freed};
    bug->state(bend);
  }
  return out;
}

Status Transaction::compute(Work& work, const Progress& progress) {
  work.provenance.assign(work.state.groups.size(), std::vector<Provenance>(work.plan.rows.size()));
  if (m_transformer) {
    KV_TRY(reserveRecomputed(work));
    if (m_transformer->keysRotated()) work.written = writtenPhases(work.before);
    // Recomputing all later rows overwrites new rows, too, so one pass is enough.
    const bool together = work.rules.newRows == NewRows::Forward &&
        (work.rules.afterEdit == AfterEdit::Recompute ||
         (work.rules.executor == Executor::Batch && work.rules.afterEdit == AfterEdit::Keep));
    // The batch executor attends to keys at their new phases, the descending executor to keys at their old phases.
    const bool descends = !together && work.rules.executor == Executor::Descending;
    if (!descends) KV_TRY(turnKeys(work));
    if (!together) KV_TRY(computeInserted(work, progress));
    if (descends) KV_TRY(turnKeys(work));
    KV_TRY(chooseRecomputed(work));
    std::vector<std::int32_t> positions = work.recompute;
    // New rows behind a recomputed row were computed from its old value.
    const bool batch = work.rules.newRows == NewRows::Forward && work.rules.executor == Executor::Batch;
    for (std::size_t i = 0; i < work.plan.rows.size(); ++i) {
      const std::int32_t position = work.plan.rows[i].position.value();
      const bool again = batch && !work.recompute.empty() && position > work.recompute.front();
      if (together || again || i >= work.inserted()) positions.push_back(position);
    }
    std::sort(positions.begin(), positions.end());
    if (!positions.empty()) extendSums(work.state);
    RowsJob job = jobOver(work.state, work.rules);
    job.wanted = work.rules.wanted | Wanted{.logits = true};
    job.wanted.surprise = job.wanted.surprise && work.plan.appendsOnly();
    for (std::int32_t p : positions) job.rows.push_back(targetAt(work.state, p));
    KV_TRY(computeJob(work, std::move(job), progress));
  }
  for (std::size_t g = 0; g < work.state.groups.size(); ++g) work.state.groups[g].provenance.append(work.provenance[g]);
  return ok();
}

/// Computes inserted rows that do not share a pass with the appended ones.
Status Transaction::computeInserted(Work& work, const Progress& progress) {
  const auto finish = [&](RowsJob job) {
    job.embeddingOnly = work.rules.newRows == NewRows::EmbeddingOnly;
    return computeJob(work, std::move(job), progress);
  };
  if (work.rules.executor == Executor::Batch) {
    RowsJob job = jobOver(work.state, work.rules);
    if (work.rules.newRows == NewRows::Forward) job.wanted.gates = work.rules.wanted.gates;
    for (std::size_t i = 0; i < work.inserted(); ++i)
      job.rows.push_back(targetAt(work.state, work.plan.rows[i].position.value()));
    return finish(std::move(job));
  }
  const auto details = static_cast<std::ptrdiff_t>(work.plan.details.size()) - work.plan.adds;
  for (std::ptrdiff_t i = details - 1; i >= 0; --i) {
    const PlannedAction& detail = work.plan.details[at(i)];
    if (detail.newLedger.empty()) continue;
    RowsJob job = descendingJob(work.before, work.state, work.plan, detail, work.added, work.rules.splice.position);
    for (std::size_t layer = 0; layer < work.written.size(); ++layer) {
      const ResidencyView& map = *job.groups[at(job.groupOf[layer])].map;
      work.written[layer].resize(at(work.state.ledger.nextId().value()), -1);
      for (std::size_t row = map.size() - job.rows.size(); row < map.size(); ++row)
        work.written[layer][at(map.ledger[row].value())] = map.phases[row];
    }
    KV_TRY(finish(std::move(job)));
  }
  return ok();
}

/// key_phase at_write: rotates stored keys to their new phases.
Status Transaction::turnKeys(Work& work) {
  if (work.written.empty()) return ok();
  auto scope = work.trace.scope("turn_keys");
  KV_TRY(m_faults.pass(FaultPoint::Copy, "turning keys"));
  const auto turn = [&] {
    work.turned = shiftKeys(work.state, work.written, *m_transformer, m_store, work.rules.probes);
  };
  if (const BugKind* bug = m_faults.bug(); bug && bug->turning) bug->turning(work.state, m_store, turn);
  else turn();
  scope.bytes(work.turned);
  return ok();
}

/// Finds survivors to compute again and reserves their slots, before any step that cannot be undone.
Status Transaction::reserveRecomputed(Work& work) {
  if (work.rules.afterEdit == AfterEdit::Keep || work.plan.stale == 0) return ok();
  work.recompute = staleSurvivors(work.state, work.plan);
  std::size_t count = work.recompute.size();
  if (work.rules.afterEdit == AfterEdit::Selective) {
    // The deviation compares a row in layers 0 and 1, so it must be resident in both.
    for (const CacheLayer layer : work.state.layers() | std::views::take(2))
      work.recompute = residentIn(work.state, layer, work.recompute);
    count = shareOf(work.recompute.size(), work.rules.selectiveRatio);
  }
  if (count == 0) return ok();
  const auto rows = static_cast<std::int32_t>(count);
  KV_TRY(roomAhead(m_store, work.before, rows + work.rules.more));
  work.recomputeSlots = KV_TRY(m_layouts.reserve(m_store, work.before, rows, 0, false, m_faults, work.rules.more));
  append(work.added, work.recomputeSlots);
  return ok();
}

Status Transaction::chooseRecomputed(Work& work) {
  if (work.recompute.empty()) return ok();
  auto scope = work.trace.scope("choose_recomputed");
  if (work.rules.afterEdit == AfterEdit::Selective) {
    RowsJob probe = jobOver(work.state, work.rules);
    for (std::int32_t p : work.recompute) probe.rows.push_back(targetAt(work.state, p));
    work.recompute =
        mostDeviating(work.recompute, KV_TRY(deviations(*m_transformer, m_store, m_faults, std::move(probe))),
                      work.rules.selectiveRatio);
    if (work.recompute.empty()) return ok();
  }
  const std::vector<std::int32_t> groupOf = work.state.groupOf;
  SlotChange change = refreshSlots(work.state, work.recompute, work.recomputeSlots);
  // Groups may have split: each new group copies the provenance of its old group.
  std::vector<std::vector<Provenance>> provenance(work.state.groups.size());
  for (std::size_t layer = 0; layer < groupOf.size(); ++layer)
    provenance[at(work.state.groupOf[layer])] = work.provenance[at(groupOf[layer])];
  work.provenance = std::move(provenance);
  append(work.freed, change.freed);
  append(work.unused, change.unused);
  return ok();
}

Status Transaction::computeJob(Work& work, RowsJob job, const Progress& progress) {
  if (job.rows.empty()) return ok();
  auto scope =
      work.trace.scope("compute_rows", std::to_string(job.rows.size()) + (job.rows.size() == 1 ? " row" : " rows"));
  // A row uses its new slot as scratch even in layers that do not hold the row. New rows of the descending executor
  // have the positions of a context that has not seen earlier actions: ids tell new rows from those that are
  // recomputed.
  LayerSlots scratch(work.added.size());
  for (const RowTarget& row : job.rows) {
    const bool fresh = row.id >= work.before.ledger.nextId();
    const LayerSlots& slots = fresh ? work.added : work.recomputeSlots;
    const auto found = std::lower_bound(work.recompute.begin(), work.recompute.end(), row.position);
    const std::size_t index = fresh ? work.newRow(row.id) : at(found - work.recompute.begin());
    for (std::size_t layer = 0; layer < scratch.size(); ++layer) scratch[layer].push_back(slots[layer][index]);
  }
  job.scratch = &scratch;
  const std::vector<RowTarget> rows = job.rows;
  const bool newest = rows.back().position + 1 == work.plan.lengthAfter && job.wanted.logits;
  RowsResult result = KV_TRY(computeRows(*m_transformer, m_store, m_faults, std::move(job), progress));
  scope.bytes(result.bytes);
  scope.rings({.reads = std::move(result.reads)});
  for (std::size_t g = 0; g < work.state.groups.size(); ++g) {
    std::vector<Provenance> old;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].id >= work.before.ledger.nextId()) {
        work.provenance[g][work.newRow(rows[i].id)] = result.provenance[g][i];
        continue;
      }
      Column<Provenance>& column = work.state.groups[g].provenance;
      if (old.empty()) old.assign(column.begin(), column.end());
      old[at(rows[i].id.value())] = result.provenance[g][i];
    }
    if (!old.empty()) work.state.groups[g].provenance.assign(old);
  }
  std::vector<LedgerId> ids;
  for (const RowTarget& row : rows) ids.push_back(row.id);
  forgetPasts(work.state, ids);
  keepGateScores(work.state, rows, result.gateScores, m_transformer->model().config().kvHeads);
  keepSurprise(work, rows, result.surprise);
  if (newest) {
    work.state.logits = std::make_shared<const std::vector<float>>(std::move(result.logits));
    if (result.attention) work.state.attention = work.state.read = std::move(result.attention);
    if (work.rules.wanted.received != InLayers::None) work.state.received = work.state.attention;
    work.logitsFresh = true;
  }
  return ok();
}

/// Notes the surprise of appended tokens that were scored together, but not of the first: its logits came from an
/// earlier pass.
void Transaction::keepSurprise(Work& work, const std::vector<RowTarget>& rows, const std::vector<float>& surprise) {
  for (std::size_t i = 1; i < surprise.size(); ++i) work.state.ledger.change(rows[i].id).surprise = surprise[i];
}

Result<RowsBrought> Transaction::look(const CacheState& state, const QueryPass& pass, const TransactionRules& rules) {
  RowsJob job = jobOver(state, rules);
  for (const std::int32_t position : pass.positions) job.rows.push_back(targetAt(state, position));
  job.wanted = pass.wanted;
  job.layers = pass.layers;
  job.write = false;
  std::optional<LentSlots> lent;
  if (!std::ranges::all_of(state.groups, [&](const LayerGroup& group) { return holds(*group.map, job.rows); }))
    job.scratch = &lent.emplace(m_store, KV_TRY(m_store.lend(std::ssize(job.rows), m_faults))).slots();
  RowsResult result = KV_TRY(computeRows(*m_transformer, m_store, m_faults, std::move(job), pass.progress));
  return RowsBrought(std::move(result));
}

}  // namespace kvlab
