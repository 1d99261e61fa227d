// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/plain/plain_kind.h"

#include <algorithm>

#include "core/model/decoder/frequencies.h"
#include "core/parts/reviser.h"
#include "core/parts/storage_plan.h"

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

KindInfo plainKind() {
  KindInfo out;
  out.serves = [](const Manifest& manifest) { return !manifest.wlod; };
  out.make = []() -> std::unique_ptr<CacheKind> { return std::make_unique<PlainKind>(); };
  return out;
}

}  // namespace kvlab
