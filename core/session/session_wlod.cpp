// SPDX-License-Identifier: Apache-2.0
// wLOD: ticks whose lists may expand and collapse, rounds of the focus allocator, speculative spans. semantics.md,
// section 8.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/analysis/drift_meter.h"
#include "core/files/fingerprint.h"
#include "core/session/session.h"

namespace kvlab {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

Error noWlod(const char* what) {
  return {"no_wlod",
          what,
          "this session has no working context",
          "open one with \"wlod\": {} in the manifest",
          std::nullopt,
          "wlod",
          nullptr};
}

std::int32_t addsOf(const std::vector<Action>& actions) {
  return static_cast<std::int32_t>(
      std::count_if(actions.begin(), actions.end(), [](const Action& a) { return std::holds_alternative<Add>(a); }));
}

/// The ratios of a change, as its event carries them.
std::string ratiosText(const WlodRatios& r) {
  char out[200];
  std::snprintf(out, sizeof out, "spatial %.3f, temporal %.3f, hits %.3f, swaps %.3f, residency %.3f %.3f %.3f",
                r.spatial, r.temporal, r.hits, r.swaps, r.residency[0], r.residency[1], r.residency[2]);
  return out;
}

/// What readers are told of an edit that was more than appending; null where it was not.
std::shared_ptr<const WlodChange> changeOf(const WlodState& before, const WlodPlan& plan, const WlodApplied& applied,
                                           Tick tick) {
  if (plan.earliest >= before.tree.length()) return before.change;
  auto out = std::make_shared<WlodChange>();
  out->tick = tick;
  out->edits = plan.changes;
  out->earliest = applied.invalidation.earliest;
  for (const WlodRow& row : applied.state.rows) out->nodes.push_back(row.node);
  out->why = applied.invalidation.why;
  out->layer0 = applied.invalidation.layer0;
  out->gists = applied.gists;
  for (const Swap& swap : differences(before.context.entries().span(), applied.state.context.entries().span()))
    out->swapped += swap.countAfter;
  out->computed = applied.computed;
  out->kept = static_cast<std::int32_t>(std::count(applied.state.stale.begin(), applied.state.stale.end(), true));
  out->full = applied.choice.full;
  out->reason = applied.choice.reason;
  out->share = applied.choice.share;
  out->incrementalUs = applied.choice.incrementalUs;
  out->fullUs = applied.choice.fullUs;
  out->us = applied.us;
  out->bytes = applied.result.bytes;
  return out;
}

}  // namespace

Status Session::withoutWlod(const char* what) const {
  if (!m_manifest.wlod) return ok();
  return Error{"unsupported",
               what,
               "the rows of a wLOD session belong to its tree",
               "use a session without wlod",
               std::nullopt,
               "wlod",
               nullptr};
}

/// What a working context cannot go together with.
Status Session::wlodPossible() const {
  const Manifest& m = m_manifest;
  const auto refuse = [](const char* key, const nlohmann::json& value, const char* why) {
    return Error{"bad_manifest",
                 "wLOD was refused",
                 std::string(key) + " " + why,
                 "leave it out, or open the session without wlod",
                 std::nullopt,
                 key,
                 value};
  };
  if (m.capacity) return refuse("capacity", m.capacity, "is decided by wlod.budget");
  if (m.residentByHead())
    return refuse("residency", "kv_head", "by KV head is not there: the working context is the same in all heads");
  if (m.position != PositionMode::Context) return refuse("position", nullptr, "is the place on the time line");
  if (m.keyPhase != "on_read")
    return refuse("key_phase", m.keyPhase, "at_write would turn keys that gists were made from");
  if (m.brightness.compressor != "off")
    return refuse("brightness.compressor", m.brightness.compressor,
                  "would replace two tokens by one, and moments may not move");
  if (m.newRows != NewRows::Forward)
    return refuse("new_rows", "embedding_only", "is not there: rows are always computed");
  if (m.ring.window || m.ring.blockTokens > 1)
    return refuse("ring", nullptr, "does not go together with it: detail gives way, not age");
  const std::vector<std::int32_t> masks = windows();
  for (int layer = 0; layer < m_model->config().layers; ++layer) {
    if (m.layoutOf(layer) != "indirection")
      return refuse("layout", m.layoutOf(layer), "would have to move rows: new ones get slots of their own");
    if (!m.policyOf(layer).keepsAll())
      return refuse("policy", m.policyOf(layer).name, "would evict: a working context collapses instead");
    if (masks[at(layer)]) return refuse("window", masks[at(layer)], "of a layer would hide what its gists stand for");
  }
  return ok();
}

/// Gists and lens as the manifest names them.
Status Session::equipWlod() {
  if (Status possible = wlodPossible(); !possible) return possible;
  const WlodSettings& wanted = *m_manifest.wlod;
  if (m_wlod) return ok();  // a sibling's
  WlodParts parts;
  const std::string shipped = m_resources + "/gists/" + m_model->spec() + ".safetensors";
  if (wanted.gist == "mean") {
    parts.gists = meanGistNet(m_model->config().hidden);
  } else {
    const bool trained = wanted.gist == "trained";
    if (trained && !std::filesystem::exists(shipped))
      return Error{"bad_manifest",
                   "wLOD was refused",
                   "no gists are shipped for the model " + m_model->spec(),
                   "use wlod.gist mean, or name a file",
                   std::nullopt,
                   "wlod.gist",
                   "trained"};
    Result<std::shared_ptr<const GistNet>> net =
        loadGistNet(trained ? shipped : wanted.gist, m_model->config().hidden, kernels::makeCpuBackend(1));
    if (!net) return net.error();
    parts.gists = net.take();
    if (const std::string own = modelFingerprint(*m_model);
        !parts.gists->model().empty() && parts.gists->model() != own)
      return Error{"bad_gist_net",
                   "wLOD was refused",
                   parts.gists->name() + " was trained for a model of fingerprint " + parts.gists->model() +
                       ", this one has " + own,
                   "train gists for this model, or use wlod.gist mean",
                   std::nullopt,
                   "wlod.gist",
                   wanted.gist};
  }
  const bool builtIn = wanted.lens == "attention" || wanted.lens == "script" || wanted.lens == "off";
  parts.lens.name = wanted.lens;
  if (!builtIn) {
    Result<Lens> lens = loadLens(wanted.lens, m_model->config().layers);
    if (!lens) return lens.error();
    parts.lens = lens.take();
  }
  if (wanted.lens != "script" && wanted.allocates() && !m_manifest.probes)
    return Error{"bad_manifest",
                 "wLOD was refused",
                 "its lens looks at attention, and probes are off",
                 "set probes to true, or wlod.lens to script or off",
                 std::nullopt,
                 "probes",
                 false};
  m_wlod = std::move(parts);
  return ok();
}

WlodRules Session::wlodRules() const {
  const WlodSettings& s = *m_manifest.wlod;
  WlodRules rules;
  rules.attention = s.attention == "flat" ? WlodAttention::Flat : WlodAttention::Pyramid;
  rules.pyramid = {s.near, s.middle};
  rules.sigma = s.sigma;
  rules.working = {s.budget, s.protectedTail, s.cooldown};
  rules.start = {s.startTokens, s.startGists};
  rules.focus = {s.expandAt, s.collapseAt, s.edits};
  rules.every = s.every;
  rules.costs.threshold = s.threshold;
  rules.selectiveRatio = s.selectiveRatio;
  return rules;
}

/// An empty time line; null without wLOD.
std::shared_ptr<const WlodState> Session::startWlod() const {
  if (!m_wlod) return nullptr;
  auto state = std::make_shared<WlodState>();
  state->rules = wlodRules();
  state->tree = MegaContext(m_model->config().hidden);
  state->slots.resize(at(m_store.layers()));
  return state;
}

WlodMirrorRules Session::mirrorRules(double memory) const {
  return {transactionRules().splice, m_manifest.probes, m_wlod->lens.layers, memory};
}

/// What the focus allocator adds to a list: the edits of a round that is due, or what makes room for more tokens. The
/// round is noted in `observed`.
Status Session::focus(CacheState& observed, std::int32_t adds, std::vector<Action>& actions, Trace& trace) const {
  const WlodState& state = *observed.wlod;
  if (!m_manifest.wlod->allocates() || state.context.cost() == 0 || state.draft || m_drafting) return ok();
  const bool room = state.context.cost() + adds > state.rules.working.budget;
  const bool due =
      adds ? adds == 1 && actions.size() == 1 && state.sinceRound + 1 >= state.rules.every : actions.empty();
  if (!room && !due) return ok();
  auto scope = trace.scope("refocus");
  auto next = std::make_shared<WlodState>(state);
  std::vector<double> scores = m_wlod->scores(state);
  scores.resize(at(state.context.cost()));  // nothing to go by: all alike
  if (!room) next->context = state.context.nextRound();
  Result<Refocus> round = room ? makeRoom(next->context, scores, adds, state.rules.working)
                               : kvlab::refocus(next->context, scores, state.rules.focus, state.rules.working);
  if (!round) return round.error();
  if (!room) next->sinceRound = -adds;  // which are counted when they come
  round->round.tick = Tick(observed.tick.value() + 1);
  scope.detail(std::to_string(round->edits.size()) + " of " + std::to_string(round->round.decisions.size()) +
               " candidates");
  next->rounds.push_back(std::make_shared<const FocusRound>(std::move(round->round)));
  if (next->rounds.size() > WlodState::kMostRounds) next->rounds.erase(next->rounds.begin());
  for (const LodEdit& edit : round->edits) {
    if (edit.expand) actions.push_back(Expand{edit.node.id()});
    else actions.push_back(Collapse{edit.node.id()});
  }
  observed.wlod = std::move(next);
  return ok();
}

/// Whether a round would change anything.
bool Session::focusPays() const {
  if (!m_state.wlod || m_state.length() == 0) return false;
  CacheState looked = m_state;
  std::vector<Action> actions;
  Trace trace;
  return focus(looked, 0, actions, trace) && !actions.empty();
}

Status Session::applyWlod(CacheState observed, std::vector<Action> actions, Source addSource, PassKind pass,
                          Trace& trace, TickReport& report) {
  const std::int32_t adds = addsOf(actions);
  const std::size_t given = actions.size();
  if (Status focused = focus(observed, adds, actions, trace); !focused) return focused;
  report.actions.insert(report.actions.end(), actions.begin() + static_cast<std::ptrdiff_t>(given), actions.end());
  WlodState before = *observed.wlod;
  before.rules.costs = wlodCosts();
  before.sinceRound += adds;
  Result<WlodPlan> plan = [&] {
    auto scope = trace.scope("plan");
    return planWlod(before, m_model->config().vocab, std::move(actions));
  }();
  if (!plan) return plan.error();
  if (plan->context.length() >= m_maxPhases)
    return Error{"no_phase_room",
                 "the edit was refused",
                 "the time line would be " + std::to_string(plan->context.length()) +
                     " moments long, and it has room for " + std::to_string(m_maxPhases - 1),
                 "open the session with larger wlod.moments",
                 std::nullopt,
                 "moments",
                 plan->context.length()};
  auto scope = trace.scope("apply");
  const bool appends = plan->earliest >= before.tree.length();
  m_timeline.makeRoom(
      m_store, WlodState::mostRows(appends ? plan->context.length() - before.tree.length() : plan->context.cost()),
      m_manifest.historyBytes);
  const Tick tick(observed.tick.value() + 1);
  Result<WlodApplied> applied = wlodTransaction().run(observed.ledger, before, *plan, addSource, tick,
                                                      m_manifest.wlod->recompute, trace, m_progress);
  if (!applied) return applied.error();
  m_wlod->costs.add(applied->result.rows, applied->result.pairs, applied->us);
  applied->state.change = changeOf(before, *plan, *applied, tick);
  if (applied->state.change != before.change) scope.detail(ratiosText(ratiosOf(applied->state)));
  if (m_drafting && !before.draft)
    applied->state.draft = WlodDraft{before.tree.length(), std::make_shared<const CacheState>(m_state)};
  LayerSlots added = std::move(applied->added), freed = std::move(applied->freed);
  const std::int64_t bytes = applied->result.bytes;
  const bool decodes = pass == PassKind::Decode && adds == 1;
  commit(mirrored(observed, applied.take(), mirrorRules(decodes ? 0.875 : 0)), std::move(added), std::move(freed),
         bytes);
  return ok();
}

TickReport Session::refocus() {
  if (Status usableNow = usable(); !usableNow) return refused(usableNow.error());
  if (!m_state.wlod) return refused(noWlod("nothing was refocused"));
  if (!m_manifest.wlod->allocates())
    return refused({"no_lens", "nothing was refocused", "wlod.lens is off",
                    "open the session with a lens, or expand and collapse by hand", std::nullopt, "lens", "off"});
  if (m_state.wlod->draft)
    return refused(
        {"speculating", "nothing was refocused", "a speculative span is open", "accept it or roll it back first"});
  return runTick(false, {}, {}, Source::User, PassKind::Decode);
}

Status Session::setLensScores(std::vector<double> scores) {
  if (Status usableNow = usable(); !usableNow) return usableNow;
  if (!m_state.wlod) return noWlod("the scores were refused");
  if (m_wlod->lens.name != "script")
    return Error{"no_lens",
                 "the scores were refused",
                 "wlod.lens is " + m_wlod->lens.name,
                 "open the session with wlod.lens script",
                 std::nullopt,
                 "lens",
                 m_wlod->lens.name};
  if (Result<Refocus> tried =
          kvlab::refocus(m_state.wlod->context, scores, m_state.wlod->rules.focus, m_state.wlod->rules.working);
      !tried)
    return tried.error();
  WlodState next = *m_state.wlod;
  next.scores = std::move(scores);
  CacheState state = m_state;
  state.wlod = std::make_shared<const WlodState>(std::move(next));
  record(std::move(state), {}, {});
  publish();
  return ok();
}

TickReport Session::speculate(const std::vector<TokenId>& tokens) {
  if (!m_state.wlod) return refused(noWlod("nothing was drafted"));
  if (!m_pending.empty())
    return refused({"speculating", "nothing was drafted", "actions are pending that would have to wait",
                    "apply or clear them first"});
  m_drafting = true;
  TickReport report = append(tokens, Source::Model, false);
  m_drafting = false;
  return report;
}

Status Session::endDraft(bool keep) {
  if (Status usableNow = usable(); !usableNow) return usableNow;
  if (!m_state.wlod) return noWlod("there is nothing to end");
  if (!m_state.wlod->draft)
    return Error{"no_draft", keep ? "nothing was accepted" : "nothing was rolled back", "no speculative span is open",
                 "draft one with speculate"};
  const WlodDraft draft = *m_state.wlod->draft;
  CacheState state = keep ? m_state : *draft.before;
  LayerSlots freed(at(m_store.layers()));
  if (keep) {
    WlodState next = *m_state.wlod;
    next.draft.reset();
    state.wlod = std::make_shared<const WlodState>(std::move(next));
  } else {
    const auto kept = at(draft.before->wlod->count());
    for (std::size_t layer = 0; layer < freed.size(); ++layer) {
      const Column<Slot>& slots = m_state.wlod->slots[layer];
      freed[layer].assign(slots.begin() + kept, slots.end());
    }
  }
  state.tick = Tick(m_state.tick.value() + 1);
  record(std::move(state), {}, std::move(freed));
  publish();
  return ok();
}

std::shared_ptr<const WlodView> Session::wlodView() const {
  return m_state.wlod ? std::make_shared<const WlodView>(describeWlod(*m_state.wlod, *m_wlod)) : nullptr;
}

/// Every row computed anew, in slots of its own.
Result<WlodApplied> Session::rebuiltWlod(Trace& trace) {
  m_timeline.makeRoom(m_store, m_state.wlod->count(), m_manifest.historyBytes);
  return wlodTransaction().rebuild(m_state.ledger, *m_state.wlod, trace, m_progress);
}

Result<RebuildOutcome> Session::rebuildWlod() {
  if (m_state.wlod->draft)  // what comes back with a rollback lies in the slots that a rebuild would free
    return Error{"speculating", "nothing was rebuilt", "a speculative span is open, and what is before it must stay",
                 "accept it or roll it back first"};
  Trace trace;
  Result<WlodApplied> rebuilt = rebuiltWlod(trace);
  if (!rebuilt && rebuilt.error().code == "fault") rebuilt = rebuiltWlod(trace);
  RebuildOutcome outcome;
  if (!rebuilt) {
    outcome.cancelled = rebuilt.error().code == "cancelled";
    if (!outcome.cancelled) return rebuilt.error();  // the rows before are still there
    return outcome;
  }
  outcome.logits = rebuilt->result.logits;
  outcome.layersDone = m_store.layers();
  m_wlod->costs.add(rebuilt->result.rows, rebuilt->result.pairs, rebuilt->us);
  LayerSlots added = std::move(rebuilt->added), freed = std::move(rebuilt->freed);
  record(mirrored(m_state, rebuilt.take(), mirrorRules(0)), std::move(added), std::move(freed));
  checkInvariants(true);
  return outcome;
}

Result<Drift> Session::wlodDrift() {
  Trace trace;
  Result<WlodApplied> rebuilt = rebuiltWlod(trace);
  if (!rebuilt) return rebuilt.error();
  DriftMeter meter(m_state.length());
  std::vector<std::int32_t> positions;
  for (std::int32_t i = 0; i < m_state.length(); ++i) positions.push_back(i);
  for (int layer = 0; layer < m_store.layers(); ++layer) {
    std::vector<std::int32_t> records;
    for (std::size_t row = 0; row < rebuilt->state.rows.size(); ++row)
      if (rebuilt->state.rows[row].entry) records.push_back(rebuilt->state.slots[at(layer)][row].value());
    meter.add(layer, m_store.pool(layer), plain(m_state.map(layer).slotOf.span()), m_store.pool(layer), records,
              positions);
  }
  std::span<const float> logits;
  if (m_state.logits) logits = *m_state.logits;
  m_drift = std::move(meter).finish(rebuilt->result.logits, logits);
  m_store.release(rebuilt->added);
  publish();
  return *m_drift;
}

}  // namespace kvlab
