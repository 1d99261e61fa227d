// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/kind/wlod_kind.h"

#include <algorithm>
#include <cstdio>

#include "core/analysis/rebuild.h"
#include "core/kinds/wlod/files/cache_wlod.h"
#include "core/kinds/wlod/kind/wlod_parts.h"
#include "core/kinds/wlod/tree/gist_net.h"
#include "core/parts/reviser.h"

namespace kvlab {
namespace {

constexpr double kHighestScore = 0.999999;  // scores are below 1

/// The ratios of a change, as text for its event.
std::string ratiosText(const WlodRatios& r) {
  char out[200];
  std::snprintf(out, sizeof out, "spatial %.3f, temporal %.3f, hits %.3f, swaps %.3f, residency %.3f %.3f %.3f",
                r.spatial, r.temporal, r.hits, r.swaps, r.residency[0], r.residency[1], r.residency[2]);
  return out;
}

/// Describes an edit to readers; null for an edit that only appends.
std::shared_ptr<const WlodChange> changeOf(const WlodState& before, const WlodPlan& plan, const WlodApplied& applied,
                                           Tick tick) {
  if (plan.earliest >= before.tree.length()) return before.change;
  auto out = std::make_shared<WlodChange>();
  out->tick = tick;
  out->edits = plan.changes;
  out->earliest = applied.invalidation.earliest;
  for (const WlodRow& row : applied.state.rows) out->nodes.push_back(row.node);
  out->why = applied.invalidation.why;
  out->layer0 = applied.layer0;
  out->gists = applied.gists;
  for (const Swap& swap : differences(before.context.entries().span(), applied.state.context.entries().span()))
    out->swapped += swap.countAfter;
  out->computed = applied.computed;
  if (const std::vector<bool>& stale = applied.state.stale; !stale.empty())
    out->kept =
        static_cast<std::int32_t>(std::count(stale.begin() + applied.invalidation.firstDirty, stale.end(), true));
  out->full = applied.choice.full;
  out->reason = applied.choice.reason;
  out->share = applied.choice.share;
  out->incrementalUs = applied.choice.incrementalUs;
  out->fullUs = applied.choice.fullUs;
  out->us = applied.us + applied.chooseUs;
  out->bytes = applied.result.bytes;
  return out;
}

WlodRules rulesOf(const WlodSettings& s) {
  WlodRules rules;
  rules.attention = s.attention == "flat" ? WlodAttention::Flat : WlodAttention::Pyramid;
  rules.pyramid = {s.near, s.middle, s.nearCausal};
  rules.sigma = s.sigma;
  rules.means = s.gist == "mean";
  rules.working = {s.budget, s.protectedTail, s.cooldown};
  rules.start = {s.startTokens, s.startGists};
  rules.focus = {s.expandAt, s.collapseAt, s.edits, s.dirty, s.patience};
  rules.every = s.every;
  rules.costs.threshold = s.threshold;
  rules.selectiveRatio = s.selectiveRatio;
  rules.keepDrift = s.keepDrift;
  return rules;
}

/// If rows move in place, a rollback computes the rows before the draft again. Their values come back only if each row
/// already had the values that a recomputation gives.
bool comesBack(const CacheState& before, const SessionParts& parts) {
  return parts.layouts.inPlace() && !before.edited &&
      std::ranges::find(wlodIn(before).stale, true) == wlodIn(before).stale.end();
}

/// A rollback leads back to rows that the draft has put others in place of: they keep their slots.
void holdDraft(Applied& made) {
  if (!wlodIn(made.state).draft) return;
  const LayerSlots held = slotsBeside(*wlodIn(made.state).draft->before, made.state);
  for (std::size_t layer = 0; layer < made.freed.size(); ++layer) removeSlots(made.freed[layer], held[layer]);
}

}  // namespace

KindSizes WlodKind::sizes(const Manifest& manifest, const ModelConfig& config) const {
  const WlodSettings& s = *manifest.wlod;
  const std::int64_t moments = s.moments ? std::int64_t{s.moments} : std::int64_t{s.budget} * kGistBlock;
  KindSizes out;
  out.capacity = s.budget;
  out.moments = std::max<std::int64_t>({s.budget, config.maxPositions, moments});
  out.pool = out.room = WlodState::mostRows(s.budget);
  out.keepsMasked = true;
  return out;
}

void WlodKind::share(const Manifest& wanted, const CacheKind& other) {
  const auto* same = dynamic_cast<const WlodKind*>(&other);
  if (same && same->m_settings.gist == wanted.wlod->gist && same->m_settings.lens == wanted.wlod->lens)
    m_parts = same->m_parts;
}

Status WlodKind::open(const SessionParts& parts) {
  KV_TRY(wlodPossible(parts));
  m_settings = *parts.manifest.wlod;
  if (m_parts) return ok();  // shared from another session
  m_parts = KV_TRY(openWlod(parts, m_settings));
  return ok();
}

void WlodKind::start(const SessionParts& parts, CacheState& state) const {
  auto wlod = std::make_shared<WlodState>();
  wlod->rules = rulesOf(m_settings);
  wlod->tree = MegaContext(parts.model->config().hidden);
  state.kind = std::move(wlod);
  state.policy = startPolicies(parts);
  for (LayerGroup& group : state.groups) group.read = ReadPath::InPlace;  // by lists of slots
}

Status WlodKind::allows(const SessionParts&, Capability capability, const char* what) const {
  if (capability == Capability::Import || capability == Capability::Policies) return ok();
  return Error("unsupported", what, "the rows of a wLOD session belong to its tree", "use a session without wlod",
               "wlod", nullptr);
}

std::shared_ptr<const KindFile> WlodKind::file(const CacheState& state) const {
  const nlohmann::json all = m_settings.toJson();
  nlohmann::json out{{"gist", m_parts->gistContent}};
  for (const char* key : {"attention", "budget", "w", "w2", "near_causal", "sigma"}) out[key] = all[key];
  return std::make_shared<const WlodFile>(wlodIn(state).rules, std::move(out));
}

std::vector<std::unique_ptr<Reviser>> WlodKind::revisers() const {
  std::vector<std::unique_ptr<Reviser>> out;
  out.push_back(std::make_unique<FocusReviser>(*m_parts, m_settings));
  out.push_back(std::make_unique<PolicyReviser>());
  return out;
}

Result<EditPlan> WlodKind::plan(const SessionParts& parts, const CacheState& state, std::vector<Action> actions) const {
  return asEditPlan(wlodIn(state), KV_TRY(planWlod(*withPins(state), parts.model->config().vocab, std::move(actions))));
}

Result<std::vector<TreeNode>> WlodKind::roomFor(TreeNode gist, const CacheState& state,
                                                const std::vector<Action>& pending) const {
  const auto wlod = withPins(state);
  std::int32_t more = kGistBlock - 1 + addsIn(pending);
  for (const Action& one : pending)
    more += (kGistBlock - 1) * (std::holds_alternative<Expand>(one) - std::holds_alternative<Collapse>(one));
  if (WorkingContext::fits(wlod->context.cost() + more, wlod->rules.working)) return std::vector<TreeNode>();
  std::vector<double> scores = m_parts->scores(*wlod);
  scores.resize(at(wlod->context.cost()));  // without scores all entries are equal
  scores[at(wlod->context.entryAt(gist.start))] = kHighestScore;
  const Refocus round = KV_TRY(makeRoom(wlod->context, scores, more, wlod->rules.focus, wlod->rules.working));
  std::vector<TreeNode> out;
  for (const LodEdit& edit : round.edits) {
    if (edit.node.moments().overlaps(gist.moments()))
      return Error("over_budget", "the working context is full",
                   "no block but that of " + gist.text() + " may collapse",
                   "raise wlod.budget in the manifest, or lower wlod.protect", "budget", wlod->rules.working.budget);
    out.push_back(edit.node);
  }
  return out;
}

WlodTransaction WlodKind::transaction(CallContext& call) const {
  SessionParts& parts = call.parts;
  return WlodTransaction(*parts.transformer, parts.store, parts.layouts, parts.faults, *m_parts->gists);
}

WlodMirrorRules WlodKind::mirrorRules(const SessionParts& parts, double memory) const {
  const double old = m_parts->lens.net ? 1 : memory;  // a lens network's forecast of the last round stays
  return {transactionRules(parts).splice, parts.layouts, parts.manifest.probes,
          m_parts->lens.layers,           old,           parts.model->config().kvHeads,
          parts.manifest.ring.window};
}

Result<Applied> WlodKind::commitOf(const CacheState& before, WlodApplied applied, CallContext& call,
                                   const WlodMirrorRules& rules) const {
  Result<Applied> out = transaction(call).commit(before, std::move(applied), rules, call.trace);
  if (out && !rules.pending) holdDraft(*out);
  return out;
}

Result<Applied> WlodKind::apply(const CacheState& observed, TickPart& part, CallContext& call) {
  const std::int32_t adds = addsIn(part.actions);
  CacheState from = observed;
  {
    auto counted = withPins(observed);
    counted->rules.costs = costs(observed);
    counted->sinceRound += adds;
    from.kind = std::move(counted);
  }
  const WlodState& before = wlodIn(from);
  Result<WlodPlan> plan = [&] {
    auto scope = call.trace.scope("plan");
    return planWlod(before, call.parts.model->config().vocab, std::move(part.actions));
  }();
  if (!plan) return plan.error();
  if (plan->context.length() >= call.parts.maxPhases)
    return Error("no_phase_room", "the edit was refused",
                 "the time line would be " + std::to_string(plan->context.length()) +
                     " moments long, and it has room for " + std::to_string(call.parts.maxPhases - 1),
                 "open the session with larger wlod.moments", "moments", plan->context.length());
  auto scope = call.trace.scope("apply");
  const bool appends = plan->earliest >= before.tree.length();
  const Tick tick(observed.tick.value() + 1);
  // A rollback leads to the rows before a draft: they stay in their slots where they can.
  const WlodRecompute recompute = part.draft || before.draft ? WlodRecompute::Incremental : m_settings.recompute;
  const auto run = [&](bool all) {
    const std::int32_t rows = all ? plan->context.cost() : plan->context.length() - before.tree.length();
    call.makeRoom(WlodState::mostRows(rows), Placing::Scratch);
    return transaction(call).run(from, *plan, part.adds, recompute, part.rules.wanted, call.trace, call.progress);
  };
  const bool all = !appends || recompute == WlodRecompute::Full;
  Result<WlodApplied> applied = run(all);
  // New rows may see some that have left through a window: then all are computed.
  if (!applied && applied.error().code == "staging" && !all) applied = run(true);
  if (!applied) return applied.error();
  if ((part.draft || before.draft) && !applied->appended && call.parts.layouts.inPlace() &&
      (observed.edited || !comesBack(before.draft ? *before.draft->before : observed, call.parts)))
    return Error("unsupported", "the draft was refused",
                 "it would compute earlier rows again in place, and since rows have left layers, or were not computed "
                 "again after an edit (selective, keep), a rollback could not bring these rows back",
                 "rebuild first, or use layout indirection or paged");
  m_parts->costs.add(applied->result.rows, applied->result.pairs, applied->us);
  applied->state.change = changeOf(before, *plan, *applied, tick);
  if (applied->state.change != before.change)
    scope.detail(ratiosText(ratiosOf(applied->state, call.parts.cacheLayers.layers)));
  if (part.draft && !before.draft)
    applied->state.draft = WlodDraft{before.tree.length(), std::make_shared<const CacheState>(observed)};
  const bool decodes = part.pass == PassKind::Decode && adds == 1;
  WlodMirrorRules rules = mirrorRules(call.parts, decodes ? 0.875 : 0);
  rules.pending = !part.settles;
  return commitOf(from, applied.take(), call, rules);
}

Result<Applied> WlodKind::evict(Applied applied, std::vector<Action> evictions, const TransactionRules& rules,
                                CallContext& call) {
  if (!evictions.empty() && !applied.state.edited) {  // from now on rows remember their inputs
    std::vector<std::int32_t> rows;
    for (std::int32_t row = 0; row < wlodIn(applied.state).count(); ++row) rows.push_back(row);
    noteProvenance(applied.state, rows);
  }
  Result<Applied> out = CacheKind::evict(std::move(applied), std::move(evictions), rules, call);
  if (out) holdDraft(*out);
  return out;
}

Result<RowsBrought> WlodKind::look(const CacheState& state, const QueryPass& pass, const TransactionRules&,
                                   CallContext& call) {
  return transaction(call).look(state, pass);
}

/// Computes every row again, in new slots.
Result<WlodApplied> WlodKind::rebuilt(const CacheState& state, CallContext& call) {
  call.makeRoom(wlodIn(state).count(), Placing::Scratch);
  return transaction(call).rebuild(state, call.trace, call.progress);
}

Result<Rebuilt> WlodKind::rebuild(const CacheState& state, CallContext& call) {
  // A rollback restores rows in slots that a rebuild would free. Lost rows cannot come back anyway.
  if (wlodIn(state).draft && !call.parts.store.log().spoilt() && !comesBack(*wlodIn(state).draft->before, call.parts))
    return Error("speculating", "nothing was rebuilt", "a speculative span is open, and earlier rows must not change",
                 "accept it or roll it back first");
  Result<WlodApplied> made = rebuilt(state, call);
  if (!made && made.error().code == "fault") made = rebuilt(state, call);
  Rebuilt out;
  if (!made) {
    out.outcome.cancelled = made.error().code == "cancelled";
    if (!out.outcome.cancelled) return made.error();  // the previous rows are intact
    return out;
  }
  out.outcome.logits = made->result.logits;
  out.outcome.layersDone = call.parts.cacheLayers.layers;
  m_parts->costs.add(made->result.rows, made->result.pairs, made->us);
  out.commit = KV_TRY(commitOf(state, made.take(), call, mirrorRules(call.parts, 0)));
  return out;
}

Result<RowPair> WlodKind::rebuiltRow(const CacheState& state, CacheLayer layer, LedgerId id, CallContext& call) {
  const WlodApplied anew = KV_TRY(rebuilt(state, call));
  CacheStore& store = call.parts.store;
  const RowPool& pool = store.pool(layer);
  std::optional<RowPair> out;
  for (std::size_t row = 0; row < anew.state.rows.size() && !out; ++row) {
    if (!anew.state.rows[row].entry || anew.state.ledger[row] != id) continue;
    const std::int32_t slot = anew.slots[at(layer)][row].value();
    out.emplace(RowPair{std::vector<float>(at(pool.width())), std::vector<float>(at(pool.width()))});
    pool.gather({&slot, 1}, out->k.data(), out->v.data());
  }
  store.release(anew.added);
  call.parts.layouts.backTo(store, state);
  if (!out) return notRebuilt(id);
  return std::move(*out);
}

Result<Drift> WlodKind::drift(const CacheState& state, CallContext& call) {
  const WlodApplied anew = KV_TRY(rebuilt(state, call));
  CacheStore& store = call.parts.store;
  DriftMeter meter(state.length());
  for (const CacheLayer layer : store.layers()) {
    const ResidencyView& map = state.map(layer);
    std::vector<std::int32_t> slots, records, positions;
    std::size_t index = at(map.first);
    std::int32_t position = 0;
    for (std::size_t row = 0; row < anew.state.rows.size(); ++row) {
      if (!anew.state.rows[row].entry) continue;
      if (index < map.size() && map.ledger[index] == anew.state.ledger[row]) {
        slots.push_back(map.slotOf[index++].value());
        records.push_back(anew.slots[at(layer)][row].value());
        positions.push_back(position);
      }
      ++position;
    }
    meter.add(layer, store.pool(layer), slots, store.pool(layer), records, positions);
  }
  std::span<const float> logits;
  if (state.logits) logits = *state.logits;
  Drift out = std::move(meter).finish(anew.result.logits, logits);
  store.release(anew.added);
  call.parts.layouts.backTo(store, state);
  return out;
}

std::string WlodKind::notice() const { return gistNotice(*m_parts->gists); }

void WlodKind::describe(const CacheState& state, Snapshot& snapshot) const {
  const int layers = state.cacheLayers().layers;
  snapshot.wlod = std::make_shared<const WlodView>(describeWlod(wlodIn(state), layers, *m_parts));
}

}  // namespace kvlab
