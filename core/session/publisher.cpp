// SPDX-License-Identifier: Apache-2.0
#include "core/session/publisher.h"

#include <algorithm>

#include "core/edit/edit_plan.h"
#include "core/session/requests.h"
#include "core/session/session.h"
#include "core/session/settings.h"
#include "core/session/storage.h"
#include "core/session/truth.h"

namespace kvlab {
namespace {

ByteCount bytesOf(const Session& session) {
  ByteCount bytes;
  const CacheStore& store = session.store();
  for (const CacheLayer layer : store.layers()) {
    const std::int64_t stride = store.pool(layer).stride();
    bytes.allocated += stride * session.parts().layouts.slotsWithoutHistory(layer);
    bytes.live += stride * static_cast<std::int64_t>(session.state().group(layer).stored().resident());
  }
  bytes.moved = session.health().bytesMoved;
  return bytes;
}

/// Positions before the edit of survivors behind the first change.
std::vector<PositionRun> behind(const EditPlan& plan) {
  std::vector<PositionRun> out;
  std::int32_t at = 0;
  for (const Run& run : plan.runs) {
    const std::int32_t skip = std::clamp(plan.firstChange - at, 0, run.count);
    if (!run.fresh && skip < run.count) out.push_back({run.begin + skip, run.begin + run.count});
    at += run.count;
  }
  return out;
}

std::int64_t bytesOfRow(const Session& session) {
  std::int64_t row = 0;
  for (const CacheLayer layer : session.store().layers()) row += session.store().pool(layer).stride();
  return row;
}

/// Effect that the pending actions would have on the present state; null where nothing is pending.
std::shared_ptr<const PlanView> pendingPlan(const Session& session) {
  if (session.pending().empty()) return nullptr;
  const Result<EditPlan> planned = plan(session, {});
  auto out = std::make_shared<PlanView>();
  if (planned) *out = planView(session, *planned);
  else out->refused = planned.error();
  return out;
}

}  // namespace

PlanView planView(const Session& session, const EditPlan& plan) {
  PlanView out;
  const bool derived = session.state().kind->derivesContext();
  const bool again = derived || session.manifest().afterEdit == AfterEdit::Recompute;
  out.edits = plan.details;
  out.evictions = plan.evictions;
  out.lengthBefore = plan.lengthBefore;
  out.lengthAfter = plan.lengthAfter;
  out.newRows = static_cast<std::int32_t>(plan.rows.size());
  out.phaseShifted = plan.phaseShifted;
  (again ? out.recomputed : out.staleRows) = plan.stale;
  if (!again) out.stale = behind(plan);
  out.bytes = (std::int64_t{out.newRows} + (derived ? plan.stale : 0)) * bytesOfRow(session);
  return out;
}

void Publisher::describe(const SessionParts& parts) {
  auto info = std::make_shared<SessionInfo>();
  const ModelConfig& config = parts.model->config();
  const Tokenizer& tokenizer = parts.model->tokenizer();
  info->model = parts.manifest.model;
  info->numerics = parts.backend->ops().numericsId();
  info->backend = parts.backend->id();
  info->cacheLayers = parts.cacheLayers;
  info->heads = config.heads;
  info->kvHeads = config.kvHeads;
  info->headDim = config.headDim;
  info->vocab = config.vocab;
  info->staging = parts.manifest.staging;
  for (std::int32_t id = 0; id < config.vocab; ++id) {
    info->tokenTexts.push_back(tokenizer.tokenText(TokenId(id)));
    info->specialTokens.push_back(tokenizer.isSpecial(TokenId(id)));
  }
  m_info = std::move(info);
}

/// The settings, described anew where they have changed.
std::shared_ptr<const SettingsInfo> Publisher::settings(const Session& session) {
  static const std::vector<PolicySpec> kNone;
  const SessionParts& parts = session.parts();
  const std::vector<PolicySpec>& policies = session.state().policy ? session.state().policy->specs : kNone;
  if (m_settings && m_settings->capacity == parts.capacity && m_manifest == parts.manifest && m_policies == policies)
    return m_settings;
  const nlohmann::json now = settingsOf(parts, session.state()).toJson();
  m_settings = std::make_shared<const SettingsInfo>(SettingsInfo{parts.capacity, now});
  m_manifest = parts.manifest;
  m_policies = policies;
  return m_settings;
}

/// The most likely tokens, cached per logits: a vocabulary is large and snapshots are frequent.
const std::vector<TokenChance>& Publisher::likeliest(const CacheState& state) {
  if (m_likeliestOf == state.logits) return m_likeliest;
  m_likeliest.clear();
  for (const Candidate& c : topCandidates(*state.logits, 20))
    m_likeliest.push_back({c.id, c.p, m_info->tokenTexts[static_cast<std::size_t>(c.id.value())]});
  m_likeliestOf = state.logits;
  return m_likeliest;
}

std::shared_ptr<const std::vector<Exactness>> shownExactness(const Session& session) {
  if (!session.state().doubtful() || !session.manifest().probes) return nullptr;
  const std::optional<ExactnessMap>& known = session.measured().exactness;
  std::vector<Exactness> labels = !known ? session.kind().lastExactness(session.parts(), session.state())
      : known->layers.empty()            ? std::vector<Exactness>()
                                         : known->layers.back();
  return labels.empty() ? nullptr : std::make_shared<const std::vector<Exactness>>(std::move(labels));
}

void Publisher::publish(Session& session) {
  if (session.history().replaying()) return;
  const CacheState& state = session.state();
  const Health& health = session.health();
  const bool probes = session.manifest().probes;
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->info = m_info;
  snapshot->settings = settings(session);
  snapshot->serial = ++m_serial;
  snapshot->entry = session.timeline().currentId();
  snapshot->tick = state.tick;
  snapshot->state = health.status;
  snapshot->brokenReason = health.reason;
  snapshot->context = state.context;
  snapshot->ledger = state.ledger;
  for (const CacheLayer layer : state.layers()) snapshot->layers.push_back(state.group(layer).map);
  if (m_receive) snapshot->exactness = shownExactness(session);
  snapshot->report = health.report;
  if (state.logits && probes) snapshot->topk = likeliest(state);
  snapshot->logitsStale = state.logitsStale;
  snapshot->invariants = health.alignment.lines();
  snapshot->alignment = health.alignment.tell(session.timeline());
  snapshot->pending = session.pending();
  if (m_receive) snapshot->plan = pendingPlan(session);
  snapshot->stage = session.stage();
  snapshot->storage = storageOf(session);
  snapshot->bytes = bytesOf(session);
  session.kind().describe(state, *snapshot);
  if (state.policy) snapshot->policies = {state.policy, &state.policy->audit};
  if (const std::optional<Drift>& drift = session.measured().drift) {
    snapshot->kl = drift->kl;
    snapshot->attentionErrors = drift->attention;
  }
  snapshot->knockOut = session.measured().knockOut;
  snapshot->breakpoints = session.breakpoints().views();
  snapshot->watches = session.watches().views();
  snapshot->notes = session.notes().views(session.timeline());
  snapshot->branch = session.timeline().branch();
  snapshot->leaps = m_leaps;
  snapshot->canUndo = session.timeline().canUndo();
  snapshot->canRedo = session.timeline().canRedo();
  m_snapshot = std::move(snapshot);
  if (m_receive) m_receive(m_snapshot);
}

}  // namespace kvlab
