// SPDX-License-Identifier: Apache-2.0
#include "core/session/session.h"

#include <algorithm>
#include <new>

#include "core/api/guarded.h"
#include "core/check/checks.h"
#include "core/model/decoder/backend_status.h"
#include "core/parts/kinds.h"
#include "core/parts/open_parts.h"
#include "core/session/parts_before.h"
#include "core/session/storage.h"
#include "core/state/row_origins.h"

namespace kvlab {
namespace {

/// Bytes of overwritten rows that a call keeps until its commit, however short the history is, so that a failure can
/// be taken back.
constexpr std::int64_t kTakenBack = 16 << 20;

/// For a check that looks at no slice of the rows.
constexpr std::int64_t kNoSlice = -1;

/// Older states whose slots a full check looks at.
constexpr std::size_t kStatesLookedAt = 16;

}  // namespace

Session::Session(SessionParts parts, const Session* like)
    : m_parts(std::move(parts)), m_revisers(m_parts.kind->revisers()) {
  if (like) m_publisher.describeAs(like->m_publisher);
  else m_publisher.describe(m_parts);
  startOver();
}

Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::open(const Manifest& manifest, const std::string& resources,
                                               const Progress& progress) {
  SessionParts parts = KV_TRY(openParts(manifest, resources, progress));
  return std::unique_ptr<Session>(new Session(std::move(parts)));
}

Result<std::unique_ptr<Session>> Session::fork(const Session* beside, bool along) const {
  KV_TRY(usable());
  LayerSlots held = m_parts.layouts.heldBy(this->state());
  const LayerSlots older = along ? timeline().lyingSlots(m_history.pools()) : LayerSlots();
  for (std::size_t layer = 0; layer < older.size(); ++layer)
    held[layer].insert(held[layer].end(), older[layer].begin(), older[layer].end());
  SessionParts parts = KV_TRY(forkedParts(m_parts, held, beside ? &beside->m_parts : nullptr));
  std::unique_ptr<Session> copy(new Session(std::move(parts), this));
  CacheState state = ownCopy(this->state());
  copy->m_parts.layouts.restart(copy->m_parts.store, state, held);
  copy->m_history.startFrom(m_history, std::move(state), along);
  copy->measured().drift = measured().drift;
  copy->m_pending = m_pending;
  copy->m_health = m_health;
  copy->m_health.alignment.follow(timeline(), along ? timeline().tip() : timeline().currentId(), copy->timeline());
  copy->m_breakpoints = m_breakpoints;
  copy->m_watches = m_watches;
  copy->m_notes = m_notes.alongTrunk(timeline());
  copy->m_watching.attentionUntil = m_watching.attentionUntil;
  copy->publish();
  return copy;
}

Result<std::unique_ptr<Session>> Session::beside(Manifest wanted) const {
  const auto differs = [](const char* key, const nlohmann::json& value, const nlohmann::json& own) {
    return Error("lane_differs", "the session was not opened beside another",
                 std::string(key) + " is " + value.dump() + " there and " + own.dump() + " here",
                 "leave " + std::string(key) + " out, or open a separate session", key, value);
  };
  const Manifest& own = manifest();
  const std::string numerics = m_parts.backend->ops().numericsId();
  if (wanted.model != own.model) return differs("model", wanted.model, own.model);
  if (wanted.backend != own.backend && !kernels::isNamedBy(m_parts.backend->id(), wanted.backend))
    return differs("backend", wanted.backend, m_parts.backend->id());
  if (!wanted.numerics.empty() && wanted.numerics != numerics) return differs("numerics", wanted.numerics, numerics);
  if (wanted.weights != own.weights) return differs("weights", wanted.weights, own.weights);
  if (wanted.dtype != own.dtype) return differs("dtype", wanted.dtype, own.dtype);
  SessionParts parts = KV_TRY(siblingParts(m_parts, wanted));
  std::unique_ptr<Session> other(new Session(std::move(parts)));
  other->m_history.setExecute(m_history.execute());
  other->m_history.setKindOf(m_history.kindOf());
  return other;
}

void Session::publish() {
  if (!m_open && !m_history.replaying()) m_watches.ask(*this);
  try {
    m_publisher.publish(*this);
  } catch (const std::bad_alloc&) {  // readers see the state before until the next call
  }
  if (!m_witness || !m_history.replaying() || timeline().depth() <= m_witnessed) return;
  m_witnessed = timeline().depth();
  m_witness();
}

/// Rows that are overwritten from now on come back if the following work fails.
void Session::beginLog() { m_parts.store.log().begin(state(), std::max(manifest().historyBytes, kTakenBack)); }

CallContext Session::callContext(Trace& trace) {
  beginLog();
  return {m_parts, trace, m_progress,
          [this](std::int32_t slots, Placing placing) { m_history.makeRoom(m_parts, slots, placing); }};
}

Status Session::usable() const {
  if (m_health.status != SessionState::Broken) return ok();
  return Error("broken", "the session is broken", m_health.reason, "rebuild, save the ids, or close the session");
}

Status Session::changeable() const {
  KV_TRY(usable());
  return noOpenTick();
}

void Session::markBroken(const std::string& reason) {
  m_health.status = SessionState::Broken;
  m_health.reason = reason;
}

void Session::commit(Commit commit) {
  m_health.bytesMoved = commit.bytesMoved;
  if (manifest().check != CheckLevel::Off)
    commit.state.origins =
        withOrigin(state().origins, timeline().depth() + 1, transformer(), manifest().check != CheckLevel::Full);
  m_parts.store.deeds().tell(commit.state.logits);
  m_history.commit(std::move(commit), m_parts);
  m_health.status = state().length() ? SessionState::Ready : SessionState::Empty;
  m_health.reason.clear();
}

/// From now on deeds belong to the commit that follows. If layouts work in place, history may need free slots.
void Session::beginDeeds() {
  const bool checks = !m_history.replaying();
  m_parts.store.deeds().clear();
  const bool full = checks && manifest().check == CheckLevel::Full;
  m_parts.store.deeds().want(checks && manifest().check != CheckLevel::Off, full);
  if (full) m_parts.store.poison(!m_parts.layouts.inPlace());
}

Status Session::change(const std::function<Result<Commit>(CallContext&)>& makes, Check check) {
  KV_TRY(changeable());
  beginDeeds();
  m_history.anchor(m_parts, false);
  Trace trace;
  CallContext call = callContext(trace);
  const Status settled = guarded(kCallRefused, [&]() -> Status {
    PartsBefore before(*this);
    commit(KV_TRY(makes(call)));
    before.keep();
    return ok();
  });
  if (!settled) undone();
  KV_TRY(settled);
  if (check == Check::AsInTicks) checkChange();
  if (check == Check::Full) runChecks({.full = true});
  publish();
  return ok();
}

/// Runs every invariant once and records its result.
std::vector<Violation> Session::runChecks(const Extent& extent) {
  const auto [full, part, left, passed, late] = extent;
  CheckInput input{state(),
                   m_parts.store,
                   manifest(),
                   m_parts.capacity,
                   full,
                   late,
                   part,
                   model().config().vocab,
                   m_parts.transformer.get()};
  const std::vector<LedgerId> doubted = m_health.alignment.doubted();
  input.doubted = doubted;
  if (!m_open || m_open->committed) {
    input.deeds = m_parts.store.deeds().all();
    input.decided = m_parts.store.deeds().decided();
    input.turns = m_parts.store.deeds().turns();
    input.resized = m_parts.store.deeds().resized();
    if (const auto& drawn = m_parts.store.deeds().drawn()) input.drawn = &*drawn;
    if (const auto& culled = m_parts.store.deeds().culled()) input.culled = &*culled;
    input.refreshed = m_parts.store.deeds().asked() || m_parts.store.deeds().told() != state().logits;
    input.before = m_history.before();
    input.left = left;
    // Once in a scrub period everything is checked, so that no wrong assumption about unchanged parts lasts.
    if (!full && part % manifest().scrubPeriod != 0) input.passed = passed ? left : m_history.passed();
  }
  HeldSlots held;
  if (full && !m_open) {  // an open tick has slots that no state names yet
    held = timeline().held(m_history.pools(), m_parts.store.layers().size(), kStatesLookedAt);
    input.held = &held;
  }
  std::vector<Harm> harms;
  std::vector<Violation> violations = checkAll(input, &harms);
  // Rows that cannot be read do not satisfy an invariant.
  const Status read = backendStatus(*m_parts.backend, "reading the rows");
  if (!read) violations.push_back({"row_checksums", read.error().text()});
  const CheckMade made = CheckMarks::made(violations, full, part, manifest().scrubPeriod);
  const CheckMade noted = m_health.alignment.take(violations, made, state(), timeline(),
                                                  {harms, input.deeds, m_history.replaying(), !read});
  m_history.noteCheck(noted, !m_health.alignment.anyToLookAt());
  return violations;
}

/// True if the last commit has written, turned and moved no row, and none was to be turned.
bool Session::leftRowsAlone() const {
  const CommitDeeds& deeds = m_parts.store.deeds();
  const CacheState* before = m_history.before();
  const bool turned = m_parts.transformer->keysRotated();
  const auto alone = [&](CacheLayer layer) {
    const LayerGroup &now = state().group(layer), &then = before->group(layer);
    return now.writers.sharesWith(then.writers) && (!turned || now.stored().phases.sharesWith(then.stored().phases));
  };
  return before && deeds.all().empty() && deeds.turns().empty() && before->groupOf.size() == state().groupOf.size() &&
      std::ranges::all_of(state().layers(), alone);
}

/// Makes the check that the manifest asks for. While there are findings that it can clear it is a full one: a slice
/// without a finding proves nothing. A slice of the rows takes longer than an edit or a step back. Where no row was
/// written or moved, the turn stays with the next check. left and passed: as Extent.
std::vector<Violation> Session::checkChange(const CacheState* left, bool passed) {
  if (manifest().check == CheckLevel::Off) return {};
  const bool full = manifest().check == CheckLevel::Full || m_health.alignment.anyToLookAt();
  if (!full && (passed || leftRowsAlone())) return runChecks({.part = kNoSlice, .left = left, .passed = passed});
  return runChecks({full, m_health.checks++ % manifest().scrubPeriod, left, passed});
}

const std::vector<InvariantState>& Session::check(bool full) {
  if (!runChecks({.full = full, .late = true}).empty()) m_watches.forget();  // `invariant` holds now
  publish();
  return m_health.alignment.lines();
}

/// Starts with an empty cache and an empty history.
void Session::startOver() {
  startWith(m_history.beginning(emptyState(m_parts)), AlignmentLog());
  publish();
}

/// Takes no memory.
void Session::startWith(History::Beginning beginning, AlignmentLog alignment) {
  m_parts.store.deeds().clear();
  m_health.alignment = std::move(alignment);
  m_watches.forget();
  m_breakpoints.startOver();
  m_watching.lifespans = nullptr;
  m_publisher.startOver();
  m_history.start(std::move(beginning));
  m_notes.lose();
  m_pending.clear();
  m_health.report = nullptr;
  m_health.status = SessionState::Empty;
  m_health.reason.clear();
}

/// All memory is taken before the first row goes.
Status Session::reset() {
  KV_TRY(noOpenTick());
  LayerSlots all;  // ever handed out: rows that only history names are checked, too
  for (const CacheLayer layer : m_parts.store.layers())
    for (std::int32_t slot = (all.emplace_back(), 0); slot < m_parts.store.slots(layer).untouched(); ++slot)
      all.back().emplace_back(slot);
  CacheState empty = emptyContent(m_parts);
  const LayerSlots none(all.size());
  History::Beginning beginning = m_history.beginning(empty);
  AlignmentLog alignment;
  Manifest opened = m_parts.manifest;  // later changes of storage stay, and the new history starts from them
  for (const CacheLayer layer : m_parts.store.layers()) m_parts.store.pool(layer).zero(plain(all[at(layer)]));
  m_parts.layouts.restart(m_parts.store, empty, none);
  m_parts.store.log() = {};
  m_parts.faults.disarm();
  m_parts.opened = std::move(opened);
  startWith(std::move(beginning), std::move(alignment));
  const Status checked = guarded("nothing was checked", [&]() -> Status { return check(true), ok(); });
  static_cast<void>(checked);  // if memory is short, the next commit is checked
  return ok();
}

}  // namespace kvlab
