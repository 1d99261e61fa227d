// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/edit/wlod_transaction.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <utility>

#include "core/edit/departures.h"
#include "core/edit/recompute.h"
#include "core/kinds/wlod/edit/wlod_mirror.h"
#include "core/layout/ring_report.h"

namespace kvlab {
namespace {

/// Length of the common front of two row lists.
std::size_t commonFront(std::span<const WlodRow> a, std::span<const WlodRow> b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

/// Entries that policies have evicted from every layer are entries.
bool inContext(RowState state) { return counted(state) || state == RowState::Evicted; }

/// Row of the newest entry; summaries may follow it. 0 if there is none.
std::int32_t lastEntry(const WlodState& state) {
  std::int32_t row = std::max(0, state.count() - 1);
  while (row > 0 && !state.rows[at(row)].entry) --row;
  return row;
}

/// Measured costs, which differ from run to run, decide as long as both choices lead to the same rows.
RecomputeCosts costsOf(const CacheState& state) {
  RecomputeCosts costs = wlodIn(state).rules.costs;
  if (state.edited) costs.rowUs = costs.pairUs = costs.incrementalUs = 0;
  return costs;
}

double microsecondsSince(Trace::Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Trace::Clock::now() - start).count();
}

/// Rows attended to, summed over the queries; counted without building lists of rows.
std::int64_t pairsOf(const WlodState& state, std::int32_t from) {
  const Coverage coverage(state.context, state.rows.span(), state.rules.attention, state.rules.pyramid);
  std::int64_t pairs = 0;
  if (state.rules.attention == WlodAttention::Flat)
    return (std::int64_t{state.count()} * (state.count() + 1) - std::int64_t{from} * (from + 1)) / 2;
  for (const QueryBlock& block : coverage.blocks(from, state.count()))
    for (const std::int32_t seen : block.seen) pairs += seen;
  return pairs;
}

}  // namespace

std::vector<float> embeddingOf(const Model& model, TokenId token) {
  TensorView row = model.embed();
  const std::int64_t width = row.shape[1];
  row.data = static_cast<const std::byte*>(row.data) + token.value() * kernels::dtypeRowBytes(row.dtype, width);
  row.shape = {width};
  return widened(row);
}

/// One run: its inputs and its results so far.
struct WlodTransaction::Work {
  const CacheState& state;
  const WlodPlan* plan;  // null = a rebuild
  Source addSource;
  WlodRecompute recompute;
  Wanted wanted;
  Trace& trace;
  const WlodState& before = wlodIn(state);
  Tick now = Tick(state.tick.value() + 1);
  WlodApplied out = {};
  std::vector<Column<Slot>> was = {};   // [cache layers][rows before], -1 = the layer did not hold the row
  LayerSlots unused = {};               // slots of out.added that nobody needs, because their rows stay where they were
  std::vector<std::int32_t> old = {};   // [rows after] old row of the same node, -1 = none
  std::int32_t from = 0;                // first row to compute
  std::vector<bool> keeps = {};         // [rows - from] rows whose layer 0 stays valid
  std::vector<std::int32_t> rows = {};  // rows to compute

  /// Before the run.
  bool held(CacheLayer layer, std::int32_t row) const { return was[at(layer)][at(old[at(row)])].value() >= 0; }
  bool lacks(CacheLayer layer, std::int32_t row) const {
    return !out.missing[at(layer)].empty() && out.missing[at(layer)][at(row)];
  }
  /// An earlier edit has left the row as it was.
  bool wasStale(std::int32_t row) const {
    return !before.stale.empty() && old[at(row)] >= 0 && before.stale[at(old[at(row)])];
  }
  bool nowhere(std::int32_t row) const {
    return std::ranges::all_of(state.layers(), [&](CacheLayer layer) { return lacks(layer, row); });
  }
  /// Layer 1 has held the row, and every layer that holds it now has.
  bool comparable(std::int32_t row) const {
    return std::ranges::all_of(state.layers(), [&](CacheLayer layer) {
      return held(layer, row) || (lacks(layer, row) && state.cacheLayers().layerOf(layer) > Layer(1));
    });
  }
  /// A cache layer of layer 0, whose rows depend on embedding and phase alone.
  bool first(CacheLayer layer) const { return state.cacheLayers().layerOf(layer) == Layer(0); }
};

Result<WlodApplied> WlodTransaction::run(const CacheState& before, const WlodPlan& plan, Source addSource,
                                         WlodRecompute recompute, const Wanted& wanted, Trace& trace,
                                         const Progress& progress) {
  Work work{before, &plan, addSource, recompute, wanted, trace};
  work.out.ledger = before.ledger;
  work.out.state = work.before;
  {
    auto scope = trace.scope("splice");
    KV_TRY(spliceTree(work));
    spliceRows(work);
    nameRows(work);
  }
  return finish(work, progress);
}

Result<WlodApplied> WlodTransaction::rebuild(const CacheState& before, Trace& trace, const Progress& progress) {
  Work work{before, nullptr, Source::User, WlodRecompute::Full, {}, trace};
  work.out.ledger = before.ledger;
  work.out.state = work.before;
  const std::span<const WlodRow> rows = work.before.rows.span();
  for (std::int32_t row = 0; row < work.before.count(); ++row) work.old.push_back(row);
  work.out.invalidation = invalidate(rows, rows, {{{0, work.before.context.length()}, false}});
  return finish(work, progress);
}

Result<WlodApplied> WlodTransaction::finish(Work& work, const Progress& progress) {
  findMissing(work);
  chooseFrom(work);
  KV_TRY(placeRows(work));
  Status done = chooseRows(work, progress);
  if (done) done = compute(work, progress);
  if (!done) {
    m_store.release(work.out.added);
    return done.error();
  }
  m_layouts.release(m_store, work.unused, work.out.added);
  forgetScratch(work);
  return std::move(work.out);
}

Result<Applied> WlodTransaction::commit(const CacheState& before, WlodApplied applied, const WlodMirrorRules& rules,
                                        Trace& trace) {
  auto scope = trace.scope("commit", m_layouts.names());
  Applied out;
  out.bytesMoved = applied.result.bytes;
  out.rows = applied.computed;
  out.appended = applied.appended;
  leaveRings(before, applied, rules);
  out.added = std::move(applied.added);
  out.freed = std::move(applied.freed);
  out.state = mirrored(before, std::move(applied), rules);
  out.left = leaveWindows(before, out.state, false, Tick(before.tick.value() + 1));
  tell(out.left, trace);
  if (rules.pending) {
    out.state.tick = before.tick;
    return out;
  }
  LayoutContext context{m_store, m_faults};
  const std::int64_t moved = KV_TRY(m_layouts.settle(out.state, out.appended, out.rows, out.added, out.freed, context));
  scope.bytes(moved);
  scope.rings({.commits = ringCommits(before, out.state)});
  out.bytesMoved += moved;
  return out;
}

/// Rows that lie behind the window of a ring lose their slots, in order of arrival: no later query sees them. A row
/// that left earlier and was not computed again stays away.
void WlodTransaction::leaveRings(const CacheState& before, WlodApplied& applied, const WlodMirrorRules& rules) {
  const WlodState& state = applied.state;
  if (!rules.ringWindow || state.count() == 0 || state.draft || wlodIn(before).draft) return;
  // A summary looks back from its centre.
  const std::int32_t reach = rules.ringWindow + (state.rules.attention == WlodAttention::Pyramid ? kGistBlock / 2 : 0);
  const std::int32_t newest = state.rows[at(lastEntry(state))].node.phase();
  LayerSlots unused(applied.slots.size());
  for (const CacheLayer layer : before.layers()) {
    if (!before.group(layer).ring) continue;
    const Column<Slot> was = applied.slots[at(layer)];
    std::vector<Slot> slots(was.begin(), was.end()), added = applied.added[at(layer)];
    std::sort(added.begin(), added.end());
    for (std::size_t row = 0; row < slots.size() && state.rows[row].node.phase() <= newest - reach; ++row) {
      if (slots[row].value() < 0) continue;
      const bool fresh = std::binary_search(added.begin(), added.end(), slots[row]);
      (fresh ? unused : applied.freed)[at(layer)].push_back(std::exchange(slots[row], Slot(-1)));
    }
    applied.slots[at(layer)].assign(slots);
  }
  m_layouts.release(m_store, unused, applied.added);
}

/// Appends ledger rows of new tokens, changes the time line, and makes the gists above it.
Status WlodTransaction::spliceTree(Work& work) {
  for (const WlodPlan::Content& one : work.plan->replaced)
    work.out.state.tree.replace(one.moment, newToken(work, one.token, Source::Replacement, one.moment.value()));
  if (work.plan->tailChanges || work.plan->added) spliceTail(work);
  auto scope = work.trace.scope("gists");
  const Model& model = m_transformer.model();
  const auto scale = static_cast<float>(model.config().embeddingScale);
  const MegaContext tree = work.out.state.tree;
  work.out.gists = tree.dirty();
  KV_TRY(work.out.state.tree.refresh(m_net, [&](Moments moments, float* to) {
    const std::int64_t width = model.config().hidden;
    for (std::int32_t t = moments.begin; t < moments.end; ++t, to += width) {
      const TokenId token = work.out.ledger[tree.token(Moment(t))].token;
      std::ranges::transform(embeddingOf(model, token), to, [&](float x) { return x * scale; });
    }
  }));
  return ok();
}

/// Appends a ledger row that replaces the token `replaces` (-1 = none).
LedgerId WlodTransaction::newToken(Work& work, TokenId token, Source source, std::int32_t replaces) {
  Ledger& ledger = work.out.ledger;
  LedgerRow row;
  row.token = token;
  row.source = source;
  row.state = RowState::Collapsed;  // becomes Live when it is an entry
  row.born = row.changed = work.now;
  if (replaces < 0) return ledger.append(std::move(row));
  const LedgerId parent = work.before.tree.token(Moment(replaces));
  row.parents = {parent};
  const LedgerId child = ledger.append(std::move(row));
  LedgerRow& old = ledger.change(parent);
  old.children = {child};
  old.state = RowState::Replaced;
  old.changed = work.now;
  return child;
}

void WlodTransaction::spliceTail(Work& work) {
  const WlodPlan& plan = *work.plan;
  Ledger& ledger = work.out.ledger;
  const std::int32_t begin = plan.tailBegin + plan.kept;
  std::vector<bool> accounted(at(work.before.tree.length() - begin));  // tokens that stay or were replaced
  std::vector<LedgerId> tail;
  for (std::size_t i = at(plan.kept); i < plan.tail.size(); ++i) {
    const WlodPlan::TailToken& token = plan.tail[i];
    const bool added = i + at(plan.added) >= plan.tail.size();
    for (const std::int32_t old : {token.before, token.replaces})
      if (old >= 0) accounted[at(old - begin)] = true;
    if (token.before < 0) {
      tail.push_back(newToken(work, token.token,
                              added                     ? work.addSource
                                  : token.replaces >= 0 ? Source::Replacement
                                                        : Source::Insertion,
                              token.replaces));
      continue;
    }
    tail.push_back(work.before.tree.token(Moment(token.before)));
  }
  for (std::size_t i = 0; i < accounted.size(); ++i) {
    if (accounted[i]) continue;
    LedgerRow& row = ledger.change(work.before.tree.token(Moment(begin + static_cast<std::int32_t>(i))));
    row.state = RowState::Deleted;
    row.changed = work.now;
  }
  work.out.state.tree.setTail(Moment(begin), tail);
}

void WlodTransaction::spliceRows(Work& work) {
  WlodState& state = work.out.state;
  state.context = work.plan->context;
  const std::vector<WlodRow> rows = wlodRows(state.context, state.rules.attention);
  const std::span<const WlodRow> before = work.before.rows.span();
  const std::size_t common = commonFront(before, rows);
  state.rows = work.before.rows.following(rows);
  work.out.invalidation = invalidate(before, rows, work.plan->changes);
  std::vector<std::pair<TreeNode, std::int32_t>> known;
  for (std::size_t i = common; i < before.size(); ++i) known.emplace_back(before[i].node, static_cast<std::int32_t>(i));
  std::sort(known.begin(), known.end());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto found = i < common
        ? known.end()
        : std::lower_bound(known.begin(), known.end(), std::pair(rows[i].node, std::int32_t{0}));
    const bool same = found != known.end() && found->first == rows[i].node;
    work.old.push_back(i < common ? static_cast<std::int32_t>(i) : same ? found->second : -1);
  }
}

/// The ledger row of a node. A gist gets a ledger row when it first becomes a row.
LedgerId WlodTransaction::nameOf(Work& work, TreeNode node) {
  WlodApplied& out = work.out;
  if (const LedgerId id = out.state.tree.row(node); id.value() >= 0) return id;
  LedgerRow gist;
  gist.kind = RowKind::Gist;
  gist.token = out.ledger[out.state.tree.token(Moment(node.start))].token;
  gist.state = RowState::Collapsed;
  gist.born = gist.changed = work.now;
  const LedgerId id = out.ledger.append(std::move(gist));
  out.state.tree.name(node, id);
  return id;
}

/// Sets the ledger ids of rows and the states of old and new entries. Rows before the first dirty row did not change.
void WlodTransaction::nameRows(Work& work) {
  WlodApplied& out = work.out;
  const auto state = [&](LedgerId id, RowState now) {
    if (out.ledger[id].state == now) return;
    LedgerRow& row = out.ledger.change(id);
    row.state = now;
    row.changed = work.now;
  };
  std::vector<LedgerId> entries;
  out.state.ledger = work.before.ledger.prefix(at(out.invalidation.firstDirty));
  for (std::int32_t i = out.invalidation.firstDirty; i < out.state.count(); ++i) {
    const LedgerId id = nameOf(work, out.state.rows[at(i)].node);
    out.state.ledger.push_back(id);
    if (out.state.rows[at(i)].entry) entries.push_back(id);
  }
  const WorkingContext &was = work.before.context, &is = out.state.context;
  std::vector<LedgerId> stay = entries;
  std::sort(stay.begin(), stay.end());
  const std::int32_t earliest = out.invalidation.earliest;
  for (std::int32_t i = earliest < was.length() ? was.entryAt(earliest) : was.cost(); i < was.cost(); ++i) {
    const TreeNode entry = was.entries()[at(i)];
    const LedgerId id = work.before.tree.row(entry);
    if (std::binary_search(stay.begin(), stay.end(), id) || !inContext(out.ledger[id].state)) continue;
    const bool coarser = entry.start < is.length() && is.entries()[at(is.entryAt(entry.start))].level > entry.level;
    state(id, entry.level == 0 || coarser ? RowState::Collapsed : RowState::Replaced);
  }
  for (const LedgerId id : entries)
    if (!inContext(out.ledger[id].state)) state(id, RowState::Live);
}

/// A row that a layer has lost stays away from it, wherever it stands now. New rows and summaries are everywhere.
void WlodTransaction::findMissing(Work& work) {
  const WlodState& state = work.out.state;
  std::vector<std::pair<LedgerId, std::int32_t>> known;  // rows before, sorted; empty while nothing has left
  for (const CacheLayer layer : work.state.layers()) {
    const LayerGroup& group = work.state.group(layer);
    work.was.push_back(slotsByRow(work.before, group.stored()));
    MissingRows &missing = work.out.missing.emplace_back(), evicted = missingRows(work.before, group);
    if (evicted.empty()) continue;
    if (known.empty()) {
      for (std::int32_t row = 0; row < work.before.count(); ++row) known.emplace_back(work.before.ledger[at(row)], row);
      std::sort(known.begin(), known.end());
    }
    for (std::int32_t row = 0; row < state.count(); ++row) {
      const auto found = std::lower_bound(known.begin(), known.end(), std::pair(state.ledger[at(row)], 0));
      const bool there = found != known.end() && found->first == state.ledger[at(row)];
      missing.push_back(there && state.rows[at(row)].entry && evicted[at(found->second)]);
    }
    if (std::find(missing.begin(), missing.end(), true) == missing.end()) missing.clear();
  }
}

/// Chooses the rows that are computed.
void WlodTransaction::chooseFrom(Work& work) {
  WlodApplied& out = work.out;
  const WlodState& state = out.state;
  const Invalidation& dirty = out.invalidation;
  const bool appends =
      std::all_of(work.old.begin() + dirty.firstDirty, work.old.end(), [](std::int32_t row) { return row < 0; });
  const WlodRecompute wanted = work.recompute;
  if (!appends)
    out.choice = chooseRecompute(dirty, pairsOf(state, dirty.firstDirty), pairsOf(state, 0), costsOf(work.state));
  else out.choice = {false, "only new rows are computed", dirty.share(), 0, 0};
  const bool asked = wanted == WlodRecompute::Full || (wanted == WlodRecompute::Chosen && out.choice.full);
  const bool keep = wanted == WlodRecompute::Keep && !appends;
  std::int32_t from = std::min(dirty.firstDirty, lastEntry(state));  // logits need the newest entry
  for (std::int32_t row = 0; keep && row < from; ++row)
    if (work.wasStale(row)) from = row;
  const bool left = !asked && needsLeft(work, from);
  const bool full = out.choice.full = asked || left;
  if (left) out.choice.reason = "rows that a window has left behind are seen again";
  else if (wanted != WlodRecompute::Chosen && !appends)
    out.choice.reason = full ? "wlod.recompute asks for all rows" : "only dirty rows are computed";
  work.from = full ? 0 : from;
  for (std::int32_t row = work.from; row < state.count(); ++row) {
    const bool valid = dirty.layer0[at(row)] || (keep && row < dirty.firstDirty);
    bool keeps = !full && valid && work.old[at(row)] >= 0;
    for (const CacheLayer layer : work.state.layers()) keeps = keeps && !(work.first(layer) && !work.held(layer, row));
    work.keeps.push_back(keeps);
  }
  out.appended = work.from >= work.before.count();
}

/// True if rows from `from` on see a row before it that has left through a window: it has to be computed again.
bool WlodTransaction::needsLeft(const Work& work, std::int32_t from) const {
  const WlodState& state = work.out.state;
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
  for (std::int32_t row = from; row < state.count(); ++row) lowest = std::min(lowest, state.rows[at(row)].node.phase());
  for (const CacheLayer layer : work.state.layers()) {
    const int window = work.state.group(layer).window;
    for (std::int32_t row = 0; row < from && work.state.group(layer).stored().first > 0; ++row)
      if (work.was[at(layer)][at(work.old[at(row)])].value() < 0 && !work.lacks(layer, row) &&
          (!window || state.rows[at(row)].node.phase() > lowest - window))
        return true;
  }
  return false;
}

/// Slots for the rows to compute: rows that are clean keep theirs, a layer 0 that stays valid too.
Status WlodTransaction::placeRows(Work& work) {
  WlodApplied& out = work.out;
  auto scope = work.trace.scope("reserve");
  const std::int32_t computed = out.computed = out.state.count() - work.from;
  const std::int32_t tail = out.appended ? computed : 0;
  out.added = KV_TRY(m_layouts.reserve(m_store, work.state, computed - tail, tail, false, m_faults));
  out.freed.resize(out.added.size());
  work.unused.resize(out.added.size());
  std::vector<bool> keptFront(at(work.before.count()));
  for (std::int32_t row = 0; row < work.from; ++row) keptFront[at(work.old[at(row)])] = true;
  for (const CacheLayer layer : m_store.layers()) {
    std::vector<bool> kept = keptFront;
    const Column<Slot>& was = work.was[at(layer)];
    std::vector<Slot> slots(was.begin(), was.begin() + std::min(work.from, work.before.count()));
    for (std::int32_t i = 0; i < computed; ++i) {
      const Slot fresh = out.added[at(layer)][at(i)];
      const bool stays = work.first(layer) && work.keeps[at(i)];
      slots.push_back(stays ? was[at(work.old[at(work.from + i)])] : fresh);
      if (stays || work.lacks(layer, work.from + i)) work.unused[at(layer)].push_back(fresh);
      if (stays) kept[at(work.old[at(work.from + i)])] = true;
    }
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (!kept[i] && was[i].value() >= 0) out.freed[at(layer)].push_back(was[i]);
    out.slots.push_back(was.following(slots));
  }
  return ok();
}

WlodJob WlodTransaction::jobOf(const Work& work) const {
  const Ledger& ledger = work.out.ledger;
  WlodJob job{.state = work.out.state,
              .slots = work.out.slots,
              .missing = work.out.missing,
              .tokenOf = [&ledger](LedgerId id) { return ledger[id].token; },
              .from = work.from,
              .perLayer = work.state.perLayer,
              .keepsLayer0 = work.keeps};
  for (const CacheLayer layer : work.state.layers()) job.windows.push_back(work.state.group(layer).window);
  return job;
}

/// Old rows that an edit leaves as they were: what `selective` and `keep` do not compute again.
Status WlodTransaction::chooseRows(Work& work, const Progress& progress) {
  WlodState& state = work.out.state;
  std::vector<std::int32_t> candidates, left;
  const std::int32_t newest = lastEntry(state);
  for (std::int32_t row = work.from; row < state.count(); ++row)
    if (work.keeps[at(row - work.from)] && row != newest && work.comparable(row)) candidates.push_back(row);
  const bool some = work.recompute == WlodRecompute::Selective || work.recompute == WlodRecompute::Keep;
  if (some && !candidates.empty()) {
    auto scope = work.trace.scope("choose_rows", std::to_string(candidates.size()) + " candidates");
    const auto start = Trace::Clock::now();
    left = KV_TRY(keptOf(work, candidates, progress));
    leave(work, left);
    work.out.chooseUs = microsecondsSince(start);
  }
  std::vector<bool> stale(at(state.count())), stays(at(state.count()));
  for (const std::int32_t row : left) stays[at(row)] = true;
  for (std::int32_t row = 0; row < state.count(); ++row) {
    const bool keeps = row < work.from || stays[at(row)];
    stale[at(row)] = keeps && (row >= std::max(work.from, work.out.invalidation.firstDirty) || work.wasStale(row));
    if (!keeps && (row == newest || !work.nowhere(row))) work.rows.push_back(row);
  }
  work.out.computed = static_cast<std::int32_t>(work.rows.size());
  work.out.layer0.resize(at(state.count()));
  for (const std::int32_t row : work.rows) work.out.layer0[at(row)] = work.keeps[at(row - work.from)];
  const bool any = std::find(stale.begin(), stale.end(), true) != stale.end();
  state.stale = any ? std::move(stale) : std::vector<bool>();
  work.out.all = work.from == 0 && left.empty();
  return ok();
}

/// `selective` keeps all candidates but those whose layer 1 deviates most. `keep` keeps all of them, or none if layer 1
/// of a sample deviates too much.
Result<std::vector<std::int32_t>> WlodTransaction::keptOf(Work& work, const std::vector<std::int32_t>& candidates,
                                                          const Progress& progress) {
  const WlodRules& rules = work.out.state.rules;
  std::string& reason = work.out.choice.reason;
  if (work.recompute == WlodRecompute::Selective) {
    const std::vector<std::int32_t> chosen =
        mostDeviating(candidates, KV_TRY(deviations(work, candidates, candidates, progress)), rules.selectiveRatio);
    reason = std::to_string(chosen.size()) + " of " + std::to_string(candidates.size()) +
        " dirty rows that were there before deviate most";
    std::vector<std::int32_t> left;
    std::set_difference(candidates.begin(), candidates.end(), chosen.begin(), chosen.end(), std::back_inserter(left));
    return left;
  }
  constexpr std::size_t kSampled = 32;  // evenly spread, the first and the last among them
  std::vector<std::int32_t> sample;
  const std::size_t n = std::min(candidates.size(), kSampled);
  for (std::size_t i = 0; i < n; ++i)
    sample.push_back(candidates[i * (candidates.size() - 1) / std::max<std::size_t>(1, n - 1)]);
  double apart = 0;
  for (const double squared : KV_TRY(deviations(work, candidates, sample, progress)))
    apart += std::sqrt(squared) / static_cast<double>(n);
  char text[200];
  std::snprintf(text, sizeof text, "layer 1 of %zu rows deviates by %.3f on average, %s wlod.keep_drift %.3f: %s", n,
                apart, apart > rules.keepDrift ? "above" : "at most", rules.keepDrift,
                apart > rules.keepDrift ? "all are computed" : "the rows behind stay");
  reason = text;
  return apart > rules.keepDrift ? std::vector<std::int32_t>() : candidates;
}

/// Squared relative L2 difference of `rows`, some of the candidates, in layer 1 between new and stored values, over K
/// and V. Other candidates are not computed. [rows]
Result<std::vector<double>> WlodTransaction::deviations(Work& work, const std::vector<std::int32_t>& candidates,
                                                        const std::vector<std::int32_t>& rows,
                                                        const Progress& progress) {
  WlodApplied& out = work.out;
  const CacheLayers layers = work.state.cacheLayers();
  const Layer layer(std::min(1, layers.layers - 1));
  WlodJob job = jobOf(work);
  job.layers = layer.value() + 1;
  for (std::int32_t row = work.from; row < out.state.count(); ++row)
    if (!std::ranges::binary_search(candidates, row) || std::ranges::binary_search(rows, row)) job.rows.push_back(row);
  KV_TRY(computeWlodRows(m_transformer, m_store, m_faults, job, progress));
  std::vector<double> apart(rows.size()), size(rows.size());
  for (const CacheLayer own : layers.of(layer)) {
    std::vector<std::int32_t> was, is;
    for (const std::int32_t row : rows) {
      was.push_back(work.was[at(own)][at(work.old[at(row)])].value());
      is.push_back(out.slots[at(own)][at(row)].value());
    }
    const RowPool& pool = m_store.pool(own);
    const std::size_t width = at(pool.width());
    std::vector<float> k[2], v[2];
    for (int side = 0; side < 2; ++side) {
      k[side].resize(rows.size() * width), v[side].resize(rows.size() * width);
      pool.gather(side ? is : was, k[side].data(), v[side].data());
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (const auto* values : {&k, &v})
        for (std::size_t d = i * width; d < (i + 1) * width; ++d) {
          const double before = static_cast<double>((*values)[0][d]),
                       difference = static_cast<double>((*values)[1][d]) - before;
          apart[i] += difference * difference, size[i] += before * before;
        }
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (size[i] > 0) apart[i] /= size[i];
  return apart;
}

/// Puts rows back into their old slots; they are not computed.
void WlodTransaction::leave(Work& work, const std::vector<std::int32_t>& rows) {
  WlodApplied& out = work.out;
  for (const CacheLayer layer : m_store.layers()) {
    const Column<Slot>&was = work.was[at(layer)], &is = out.slots[at(layer)];
    std::vector<Slot> slots(is.begin(), is.end()), again;
    for (const std::int32_t row : rows) {
      const Slot old = was[at(work.old[at(row)])];
      if (slots[at(row)] == old || work.lacks(layer, row)) continue;  // kept layer 0, or a slot of no row
      work.unused[at(layer)].push_back(slots[at(row)]);
      again.push_back(old);
      slots[at(row)] = old;
    }
    removeSlots(out.freed[at(layer)], std::move(again));
    out.slots[at(layer)] = was.following(slots);
  }
}

Status WlodTransaction::compute(Work& work, const Progress& progress) {
  WlodApplied& out = work.out;
  auto scope = work.trace.scope("compute_rows",
                                std::to_string(out.computed) + " of " + std::to_string(out.state.count()) + " rows");
  WlodJob job = jobOf(work);
  job.rows = work.rows;
  job.wanted = work.wanted | Wanted{.logits = true, .newest = InLayers::All};
  job.sumsFrom = work.state.ledger.nextId();
  const auto start = Trace::Clock::now();
  out.result = KV_TRY(computeWlodRows(m_transformer, m_store, m_faults, job, progress));
  out.us = microsecondsSince(start);
  out.rows = work.rows;
  scope.bytes(out.result.bytes);
  return ok();
}

/// Rows that a layer does not hold had slots for the pass alone.
void WlodTransaction::forgetScratch(Work& work) {
  for (const CacheLayer layer : m_store.layers()) {
    const MissingRows& missing = work.out.missing[at(layer)];
    if (missing.empty()) continue;
    std::vector<Slot> slots(work.out.slots[at(layer)].begin(), work.out.slots[at(layer)].end());
    for (std::size_t row = 0; row < slots.size(); ++row)
      if (missing[row]) slots[row] = Slot(-1);
    work.out.slots[at(layer)].assign(slots);
  }
}

}  // namespace kvlab
