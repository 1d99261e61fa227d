// SPDX-License-Identifier: Apache-2.0
#include "core/edit/wlod_transaction.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "core/edit/recompute.h"

namespace kvlab {
namespace {

/// Length of the common front of two row lists.
std::size_t commonFront(std::span<const WlodRow> a, std::span<const WlodRow> b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

/// Row of the newest entry; summaries may follow it. 0 if there is none.
std::int32_t lastEntry(const WlodState& state) {
  std::int32_t row = std::max(0, state.count() - 1);
  while (row > 0 && !state.rows[at(row)].entry) --row;
  return row;
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

/// One run: its inputs and its results so far.
struct WlodTransaction::Work {
  const WlodState& before;
  const WlodPlan* plan;  // null = a rebuild
  Source addSource;
  Tick now;
  WlodRecompute recompute;
  Trace& trace;
  WlodApplied out = {};
  std::vector<std::int32_t> old = {};   // [rows after] old row of the same node, -1 = none
  std::int32_t from = 0;                // first row to compute
  std::vector<bool> keeps = {};         // [rows - from] rows whose layer 0 stays valid
  std::vector<std::int32_t> rows = {};  // rows to compute
};

Result<WlodApplied> WlodTransaction::run(const Ledger& ledger, const WlodState& before, const WlodPlan& plan,
                                         Source addSource, Tick now, WlodRecompute recompute, Trace& trace,
                                         const Progress& progress) {
  Work work{before, &plan, addSource, now, recompute, trace};
  work.out.ledger = ledger;
  work.out.state = before;
  {
    auto scope = trace.scope("splice");
    spliceTree(work);
    spliceRows(work);
    nameRows(work);
  }
  return finish(work, progress);
}

Result<WlodApplied> WlodTransaction::rebuild(const Ledger& ledger, const WlodState& before, Trace& trace,
                                             const Progress& progress) {
  Work work{before, nullptr, Source::User, Tick(0), WlodRecompute::Full, trace};
  work.out.ledger = ledger;
  work.out.state = before;
  for (std::int32_t row = 0; row < before.count(); ++row) work.old.push_back(row);
  work.out.invalidation = invalidate(before.rows.span(), before.rows.span(), {{{0, before.context.length()}, false}});
  return finish(work, progress);
}

Result<WlodApplied> WlodTransaction::finish(Work& work, const Progress& progress) {
  if (Status placed = placeRows(work); !placed) return placed.error();
  Status done = chooseRows(work, progress);
  if (done) done = compute(work, progress);
  if (!done) {
    m_store.release(work.out.added);
    return done.error();
  }
  return std::move(work.out);
}

/// Appends ledger rows of new tokens, changes the time line, and makes the gists above it.
void WlodTransaction::spliceTree(Work& work) {
  for (const WlodPlan::Content& one : work.plan->replaced)
    work.out.state.tree.replace(one.moment, newToken(work, one.token, Source::Replacement, one.moment.value()));
  if (work.plan->tailChanges || work.plan->added) spliceTail(work);
  auto scope = work.trace.scope("gists");
  const TensorView& table = m_transformer.model().embed();
  const MegaContext tree = work.out.state.tree;
  work.out.gists = tree.dirty();
  work.out.state.tree.refresh(m_net, [&](Moments moments, float* to) {
    const std::int64_t width = table.shape[1];
    for (std::int32_t t = moments.begin; t < moments.end; ++t, to += width) {
      TensorView row = table;
      row.data = static_cast<const std::byte*>(table.data) +
          work.out.ledger[tree.token(Moment(t))].token.value() * width * kernels::dtypeBytes(table.dtype);
      row.shape = {width};
      const std::vector<float> values = widened(row);
      std::copy(values.begin(), values.end(), to);
    }
  });
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
  const std::int32_t begin = work.before.tree.tailBegin() + plan.kept;
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
  const WorkingContext &was = work.before.context, &is = out.state.context;
  const auto state = [&](LedgerId id, RowState now) {
    if (out.ledger[id].state == now) return;
    LedgerRow& row = out.ledger.change(id);
    row.state = now;
    row.changed = work.now;
  };
  for (std::int32_t i = was.length() ? was.entryAt(std::min(out.invalidation.earliest, was.length() - 1)) : 0;
       i < was.cost(); ++i) {
    const TreeNode entry = was.entries()[at(i)];
    const LedgerId id = work.before.tree.row(entry);
    if (is.hasEntry(entry) || out.ledger[id].state != RowState::Live) continue;
    const bool expanded = entry.start < is.length() && is.entries()[at(is.entryAt(entry.start))].level < entry.level;
    state(id, expanded ? RowState::Replaced : RowState::Collapsed);
  }
  out.state.ledger = work.before.ledger.prefix(at(out.invalidation.firstDirty));
  for (std::int32_t i = out.invalidation.firstDirty; i < out.state.count(); ++i) {
    const LedgerId id = nameOf(work, out.state.rows[at(i)].node);
    if (out.state.rows[at(i)].entry) state(id, RowState::Live);
    out.state.ledger.push_back(id);
  }
}

/// Chooses the rows to compute and reserves their slots. Clean rows keep their slots, and so does a valid layer 0.
Status WlodTransaction::placeRows(Work& work) {
  WlodApplied& out = work.out;
  WlodState& state = out.state;
  const Invalidation& dirty = out.invalidation;
  const bool appends =
      std::all_of(work.old.begin() + dirty.firstDirty, work.old.end(), [](std::int32_t row) { return row < 0; });
  if (work.recompute == WlodRecompute::Chosen && !appends)
    out.choice = chooseRecompute(dirty, pairsOf(state, dirty.firstDirty), pairsOf(state, 0), state.rules.costs);
  const bool full = out.choice.full || work.recompute == WlodRecompute::Full;
  out.choice.full = full;
  work.from = full ? 0 : std::min(dirty.firstDirty, lastEntry(state));  // logits need the newest entry
  for (std::int32_t row = work.from; row < state.count(); ++row)
    work.keeps.push_back(!full && dirty.layer0[at(row)] && work.old[at(row)] >= 0);

  auto scope = work.trace.scope("reserve");
  const std::int32_t computed = out.computed = state.count() - work.from;
  Result<LayerSlots> reserved = m_store.reserve(computed, m_faults);
  if (!reserved) return reserved.error();
  out.added = reserved.take();
  out.freed.resize(out.added.size());
  std::vector<bool> keptFront(at(work.before.count()));
  for (std::int32_t row = 0; row < work.from; ++row) keptFront[at(work.old[at(row)])] = true;
  for (std::size_t layer = 0; layer < out.added.size(); ++layer) {
    std::vector<bool> kept = keptFront;
    const Column<Slot> was = work.before.slots.empty() ? Column<Slot>() : work.before.slots[layer];
    std::vector<Slot> slots(was.begin(), was.begin() + std::min(work.from, work.before.count())), used, unused;
    for (std::int32_t i = 0; i < computed; ++i) {
      const Slot fresh = out.added[layer][at(i)];
      const bool stays = layer == 0 && work.keeps[at(i)];
      slots.push_back(stays ? was[at(work.old[at(work.from + i)])] : fresh);
      if (stays) kept[at(work.old[at(work.from + i)])] = true;
      (stays ? unused : used).push_back(fresh);
    }
    m_store.slots(static_cast<int>(layer)).give(unused);
    out.added[layer] = std::move(used);
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (!kept[i]) out.freed[layer].push_back(was[i]);
    if (state.slots.size() <= layer) state.slots.emplace_back();
    state.slots[layer] = was.following(slots);
  }
  return ok();
}

/// `selective`: computes only those old rows again whose layer 1 deviates most.
Status WlodTransaction::chooseRows(Work& work, const Progress& progress) {
  WlodState& state = work.out.state;
  std::vector<bool> stale(at(state.count()));
  for (std::size_t row = 0; row < at(work.from); ++row)
    if (work.old[row] >= 0 && !work.before.stale.empty()) stale[row] = work.before.stale[at(work.old[row])];
  std::vector<std::int32_t> candidates, left;
  const std::int32_t newest = lastEntry(state);
  for (std::int32_t row = work.from; row < state.count(); ++row)
    if (work.keeps[at(row - work.from)] && row != newest) candidates.push_back(row);
  if (work.recompute == WlodRecompute::Selective && !candidates.empty()) {
    auto scope = work.trace.scope("choose_rows", std::to_string(candidates.size()) + " candidates");
    Result<std::vector<double>> deviation = deviations(work, candidates, progress);
    if (!deviation) return deviation.error();
    const std::vector<std::int32_t> chosen = mostDeviating(candidates, *deviation, state.rules.selectiveRatio);
    std::set_difference(candidates.begin(), candidates.end(), chosen.begin(), chosen.end(), std::back_inserter(left));
    leave(work, left);
    for (const std::int32_t row : left) stale[at(row)] = true;
    work.out.choice.reason = std::to_string(chosen.size()) + " of " + std::to_string(candidates.size()) +
        " dirty rows that were there before deviate most";
  }
  for (std::int32_t row = work.from; row < state.count(); ++row)
    if (!stale[at(row)]) work.rows.push_back(row);
  work.out.computed = static_cast<std::int32_t>(work.rows.size());
  const bool any = std::find(stale.begin(), stale.end(), true) != stale.end();
  state.stale = any ? std::move(stale) : std::vector<bool>();
  return ok();
}

/// Relative L2 difference of each row in layer 1 between new and stored values, over K and V. [rows]
Result<std::vector<double>> WlodTransaction::deviations(Work& work, const std::vector<std::int32_t>& rows,
                                                        const Progress& progress) {
  WlodApplied& out = work.out;
  const int layer = std::min(1, m_store.layers() - 1);
  WlodJob job{out.state, [&out](LedgerId id) { return out.ledger[id].token; }, work.from, {}, layer + 1, work.keeps};
  if (Result<WlodResult> probe = computeWlodRows(m_transformer, m_store, m_faults, job, progress); !probe)
    return probe.error();
  std::vector<std::int32_t> was, is;
  for (const std::int32_t row : rows) {
    was.push_back(work.before.slots[at(layer)][at(work.old[at(row)])].value());
    is.push_back(out.state.slots[at(layer)][at(row)].value());
  }
  const RowPool& pool = m_store.pool(layer);
  const std::size_t width = at(pool.width());
  std::vector<float> k[2], v[2];
  for (int side = 0; side < 2; ++side) {
    k[side].resize(rows.size() * width), v[side].resize(rows.size() * width);
    pool.gather(side ? is : was, k[side].data(), v[side].data());
  }
  std::vector<double> deviation;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double apart = 0, size = 0;
    for (const auto* values : {&k, &v})
      for (std::size_t d = i * width; d < (i + 1) * width; ++d) {
        const double before = static_cast<double>((*values)[0][d]),
                     difference = static_cast<double>((*values)[1][d]) - before;
        apart += difference * difference, size += before * before;
      }
    deviation.push_back(size > 0 ? apart / size : apart);
  }
  return deviation;
}

/// Puts rows back into their old slots; they are not computed.
void WlodTransaction::leave(Work& work, const std::vector<std::int32_t>& rows) {
  WlodApplied& out = work.out;
  for (std::size_t layer = 0; layer < out.added.size(); ++layer) {
    const Column<Slot>& was = work.before.slots[layer];
    std::vector<Slot> slots(out.state.slots[layer].begin(), out.state.slots[layer].end()), unused, again;
    for (const std::int32_t row : rows) {
      const Slot old = was[at(work.old[at(row)])];
      if (slots[at(row)] == old) continue;  // kept layer 0
      unused.push_back(slots[at(row)]);
      again.push_back(old);
      slots[at(row)] = old;
    }
    const auto drop = [](std::vector<Slot>& from, std::vector<Slot> less) {
      std::sort(less.begin(), less.end());
      std::erase_if(from, [&](Slot slot) { return std::binary_search(less.begin(), less.end(), slot); });
    };
    drop(out.added[layer], unused);
    drop(out.freed[layer], again);
    m_store.slots(static_cast<int>(layer)).give(unused);
    out.state.slots[layer] = was.following(slots);
  }
}

Status WlodTransaction::compute(Work& work, const Progress& progress) {
  WlodApplied& out = work.out;
  auto scope = work.trace.scope("compute_rows",
                                std::to_string(out.computed) + " of " + std::to_string(out.state.count()) + " rows");
  const Ledger& ledger = out.ledger;
  WlodJob job{out.state,
              [&ledger](LedgerId id) { return ledger[id].token; },
              work.from,
              work.rows,
              0,
              work.keeps,
              {.logits = true, .newest = InLayers::All}};
  const auto start = Trace::Clock::now();
  Result<WlodResult> result = computeWlodRows(m_transformer, m_store, m_faults, job, progress);
  if (!result) return result.error();
  out.us = std::chrono::duration<double, std::micro>(Trace::Clock::now() - start).count();
  out.result = result.take();
  scope.bytes(out.result.bytes);
  return ok();
}

}  // namespace kvlab
