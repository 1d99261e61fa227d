// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/plain/plain_kind.h"

#include <algorithm>
#include <limits>
#include <span>

#include "core/model/decoder/frequencies.h"
#include "core/parts/reviser.h"
#include "core/parts/storage_plan.h"
#include "core/policy/brightness.h"
#include "core/policy/outside.h"

namespace kvlab {
namespace {

bool cachePhases(const SessionParts& parts) { return parts.manifest.position == PositionMode::Cache; }

Status checkPhases(const EditPlan& plan, std::int32_t maxPhases) {
  if (plan.phases.empty() || plan.phases.back() < maxPhases) return ok();
  return Error(
      "no_phase_room", "the edit was refused",
      "phase " + std::to_string(plan.phases.back()) + " is above the last one, " + std::to_string(maxPhases - 1),
      "rebuild in position mode context, or raise capacity");
}

/// [length] marks positions that the user's actions refer to, also where they need the room that culling makes.
std::vector<bool> takenBy(const CacheState& state, const SessionParts& parts, std::vector<Action> users) {
  std::vector<bool> taken(state.context.size(), false);
  PlanRules rules = planRules(parts, Source::User);
  rules.capacity = std::numeric_limits<std::int32_t>::max();
  CacheState roomy = state;
  for (LayerGroup& group : roomy.groups) group.capacity = std::numeric_limits<std::int32_t>::max();
  const Result<EditPlan> plan = planEdit(roomy, rules, std::move(users));
  if (!plan) return taken;
  for (Position p : plan->removed) taken[at(p.value())] = true;
  // An insert must not land inside a removed run.
  for (const PlannedAction& detail : plan->details)
    for (std::int32_t p = detail.anchor.value() - 1; p <= detail.anchor.value(); ++p)
      if (p >= 0 && p < state.length()) taken[at(p)] = true;
  for (const PlannedEviction& eviction : plan->evictions)
    for (LedgerId id : eviction.ledger)
      taken[at(std::find(state.context.begin(), state.context.end(), id) - state.context.begin())] = true;
  return taken;
}

/// The tokens that a rule from outside puts in the place of pairs, [pairs]; none = the pair stays. Error:
/// bad_compressor.
Result<std::vector<std::optional<TokenId>>> askedTokens(const CacheState& observed, const CallContext& call,
                                                        std::span<const CulledPairNote* const> pairs) {
  const AddedUse use = KV_TRY(addedUse(AddedKind::Compressor, call.parts.manifest.brightness.compressor));
  std::vector<std::int32_t> positions, tokens, context;
  std::vector<float> brightness;
  for (const CulledPairNote* pair : pairs) {
    positions.push_back(pair->first.value());
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      tokens.push_back(observed.ledger[pair->ledger[side]].token.value());
      brightness.push_back(observed.brightness[at(pair->first.value()) + side]);
    }
  }
  for (const LedgerId id : observed.context) context.push_back(observed.ledger[id].token.value());
  const std::vector<std::int32_t> answer =
      KV_TRY(ruleOf<CompressorRule>(use).tokens({positions, tokens, brightness, context, use.options}));
  std::vector<std::optional<TokenId>> out;
  for (const std::int32_t token : answer) {
    if (token >= call.parts.model->config().vocab)
      return Error("bad_compressor", "the compressor " + use.what->name + " failed",
                   "it gave the token " + std::to_string(token) + ", and the vocabulary has " +
                       std::to_string(call.parts.model->config().vocab),
                   "mend it and add it again; the session is as it was", "name", use.what->name);
    out.push_back(token < 0 ? std::nullopt : std::optional(TokenId(token)));
  }
  if (out.size() == pairs.size()) return out;
  return Error("bad_compressor", "the compressor " + use.what->name + " failed",
               "it gave " + std::to_string(out.size()) + " tokens for " + std::to_string(pairs.size()) + " pairs",
               "mend it and add it again; the session is as it was", "name", use.what->name);
}

/// The decision, and notes of the pairs that it looked at. Error: bad_compressor.
Result<CullDeed> decided(const CacheState& observed, std::span<const Action> users, CallContext& call,
                         std::vector<CulledPairNote>& notes) {
  const BrightnessSettings& rules = call.parts.manifest.brightness;
  CullDeed deed{.target = rules.target, .minCosine = rules.minCosine, .brightness = observed.brightness};
  const int count = cullCount(observed.length(), rules.target);
  if (count == 0) return deed;
  deed.touched = takenBy(observed, call.parts, {users.begin(), users.end()});
  const auto isTaken = [&](Position p) { return static_cast<bool>(deed.touched[at(p.value())]); };
  notes = dimmestPairs(observed, count, isTaken);
  std::vector<CulledPairNote*> chosen;
  for (CulledPairNote& note : notes)
    if (note.outcome == CullOutcome::Culled) chosen.push_back(&note);
  std::vector<std::optional<TokenId>> asked;
  if (rules.asksOutside() && !chosen.empty()) asked = KV_TRY(askedTokens(observed, call, chosen));
  for (std::size_t n = 0; n < chosen.size(); ++n) {
    CulledPairNote& note = *chosen[n];
    const std::size_t i = at(note.first.value());
    const TokenId a = observed.ledger[note.ledger[0]].token, b = observed.ledger[note.ledger[1]].token;
    note.token = rules.asksOutside()
        ? asked[n]
        : call.parts.compressor->replacement(a, observed.brightness[i], b, observed.brightness[i + 1], rules.minCosine);
    if (!note.token) note.outcome = CullOutcome::NoNearToken;
    deed.pairs.push_back({note.first, note.token});
  }
  return deed;
}

/// Brightness culling: a tick that generates replaces the dimmest pairs of tokens until the target is met. It skips
/// tokens that the user's own actions refer to. semantics.md, section 4.
class Culling : public Reviser {
 public:
  Status before(CacheState& observed, TickPart& part, CallContext& call) const override {
    const Manifest& m = call.parts.manifest;
    const bool asks = m.brightness.compressor == "nearest" || m.brightness.asksOutside();
    if (!part.generates || part.earlier || !asks || !m.probes) return ok();
    auto scope = call.trace.scope("cull");
    CullDeed deed =
        KV_TRY(decided(observed, std::span(part.actions).first(part.actions.size() - 1), call, part.culling));
    for (const CulledPairNote& note : part.culling)
      auto one = call.trace.scope(note.token ? "culled" : "passed_over", note.text());
    std::vector<Action> culls;
    for (const CulledPair& pair : deed.pairs)
      if (pair.token) culls.push_back(ReplacePair{pair.first, Position(pair.first.value() + 1), {*pair.token}});
    // Before the action that adds the new token.
    part.actions.insert(part.actions.end() - 1, culls.begin(), culls.end());
    if (CommitDeeds& deeds = call.parts.store.deeds(); deeds.wanted()) deeds.cull(std::move(deed));
    return ok();
  }
};

}  // namespace

KindSizes PlainKind::sizes(const Manifest& manifest, const ModelConfig& config) const {
  KindSizes out;
  out.capacity = manifest.capacity ? manifest.capacity : config.maxPositions;
  out.moments = std::max<std::int64_t>(out.capacity, config.maxPositions);
  out.pool = static_cast<std::int32_t>(out.capacity);
  out.room = manifest.staging;
  return out;
}

Status PlainKind::open(const SessionParts& parts) {
  if (parts.manifest.afterEdit != AfterEdit::Selective || !parts.cacheLayers.byHead()) return ok();
  return badKey("after_edit", "selective",
                "selective compares rows over all KV heads, and with residency kv_head each head has its own rows",
                "use after_edit keep or recompute, or residency layer");
}

void PlainKind::start(const SessionParts& parts, CacheState& state) const { state.policy = startPolicies(parts); }

Status PlainKind::allows(const SessionParts& parts, Capability capability, const char* what) const {
  if (capability != Capability::QuantisationError || !parts.cacheLayers.byHead()) return ok();
  return Error("unsupported", what,
               "this needs rows that all KV heads share, and the session's residency is by KV head",
               "use a session with residency layer", "residency", "kv_head");
}

std::vector<std::unique_ptr<Reviser>> PlainKind::revisers() const {
  std::vector<std::unique_ptr<Reviser>> out;
  out.push_back(std::make_unique<Culling>());
  out.push_back(std::make_unique<PolicyReviser>());
  return out;
}

std::int64_t PlainKind::remaining(const SessionParts& parts, const CacheState& state) const {
  return rowsLeft(state, planRules(parts, Source::User));
}

Result<EditPlan> PlainKind::plan(const SessionParts& parts, const CacheState& state,
                                 std::vector<Action> actions) const {
  return planEdit(state, planRules(parts, Source::User), std::move(actions));
}

Result<Applied> PlainKind::apply(const CacheState& observed, TickPart& part, CallContext& call) {
  Result<EditPlan> plan = [&] {
    auto scope = call.trace.scope("plan");
    PlanRules asked = planRules(call.parts, part.adds);
    asked.more = part.more;
    return planEdit(observed, asked, std::move(part.actions));
  }();
  if (!plan) return plan.error();
  KV_TRY(checkPhases(*plan, call.parts.maxPhases - part.more));
  const std::size_t rows = plan->rows.size();
  auto scope = call.trace.scope("apply", std::to_string(rows) + (rows == 1 ? " new row" : " new rows"));
  const bool all = part.rules.afterEdit != AfterEdit::Keep;
  if (!part.earlier)
    call.makeRoom(static_cast<std::int32_t>(rows) + (all ? plan->stale : 0) + part.more, Placing::Scratch);
  TransactionRules rules = part.rules;
  if (rules.probes && part.pass != PassKind::Decode)
    rules.wanted = rules.wanted | Wanted{.newest = InLayers::All, .received = InLayers::All};
  rules.pending = !part.settles;
  rules.more = part.more;
  rules.keepLogits = plan->empty();
  Result<Applied> applied = call.transaction().run(observed, *plan, rules, call.trace, call.progress, part.earlier);
  part.actions = std::move(plan->actions);
  return applied;
}

Result<Rebuilt> PlainKind::rebuild(const CacheState& state, CallContext& call) {
  const bool cache = cachePhases(call.parts);
  const RebuildInput input{state, *call.parts.transformer, call.parts.faults, cache};
  Result<RebuildOutcome> outcome = kvlab::rebuild(input, call.parts.store, call.progress);
  if (!outcome && outcome.error().code == "fault") outcome = kvlab::rebuild(input, call.parts.store, call.progress);
  if (!outcome) return outcome.error();
  Commit commit{state};
  commit.rewritten = true;  // older states name the same slots
  CacheState& next = commit.state;
  next.tick = Tick(state.tick.value() + 1);
  if (!outcome->cancelled) {
    refreshProvenance(next, cache, turnWord(call.parts.model->config(), next.reach()));
    next.edited = false;
    next.pasts.clear();
    next.logits = next.length() ? std::make_shared<const std::vector<float>>(outcome->logits) : nullptr;
  }
  // Attention, and behind a rebuild that was cancelled the logits, belong to the old rows; the next tick computes them
  // again.
  next.logitsStale = next.length() > 0;
  return Rebuilt{outcome.take(), std::move(commit)};
}

Result<RowPair> PlainKind::rebuiltRow(const CacheState& state, CacheLayer layer, LedgerId id, CallContext& call) {
  const RebuildInput input{state, *call.parts.transformer, call.parts.faults, cachePhases(call.parts)};
  return kvlab::rebuiltRow(input, call.parts.store, layer, id, call.progress);
}

Result<Drift> PlainKind::drift(const CacheState& state, CallContext& call) {
  const RebuildInput input{state, *call.parts.transformer, call.parts.faults, cachePhases(call.parts)};
  std::span<const float> logits;
  if (state.logits) logits = *state.logits;
  return kvlab::drift(input, call.parts.store, logits, call.progress);
}

ExactnessMap PlainKind::exactness(const SessionParts& parts, const CacheState& state) const {
  CacheState summed = state;  // a copy, because exactness() extends prefix sums
  return kvlab::exactness(summed, cachePhases(parts), turnWord(parts.model->config(), state.reach()));
}

std::vector<Exactness> PlainKind::lastExactness(const SessionParts& parts, const CacheState& state) const {
  CacheState summed = state;
  return kvlab::lastExactness(summed, cachePhases(parts), turnWord(parts.model->config(), state.reach()));
}

KindInfo plainKind() {
  return {.serves = [](const Manifest& manifest) { return !manifest.wlod; },
          .make = []() -> std::unique_ptr<CacheKind> { return std::make_unique<PlainKind>(); }};
}

}  // namespace kvlab
