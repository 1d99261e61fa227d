// SPDX-License-Identifier: Apache-2.0
// Computes every row again. Damaged maps, slots and tags come anew from the mirror: the context and the evictions that
// the state remembers say which rows a layer must hold (state/mirror_map.h), all of them get slots anew, and the
// rebuild writes them there. Older states, whose rows may lie anywhere then, leave the history; commands bring them
// back. semantics.md, section 3 (rebuild).
#include "core/api/guarded.h"
#include "core/check/checks.h"
#include "core/edit/departures.h"
#include "core/edit/splice.h"
#include "core/session/session.h"
#include "core/session/storage.h"
#include "core/state/mirror_map.h"

namespace kvlab {
namespace {

bool shapeDamaged(const Session& session) {
  CheckInput input{session.state(), session.store(), session.manifest(), session.parts().capacity};
  input.full = true;
  // Commands that are executed again stand beside the states of another timeline, which hold slots, too.
  HeldSlots held;
  if (!session.history().replaying()) {
    held = session.timeline().held(session.history().pools(), session.store().layers().size(), 0);
    input.held = &held;
  }
  std::vector<Violation> found;
  for (const Invariant& invariant : shapeInvariants()) {
    Findings findings(invariant.id, found);
    invariant.check(input, findings);
  }
  return !found.empty();
}

/// Layers that a cancelled rebuild has not reached have the maps that they had.
void keepMaps(CacheState& next, const CacheState& before, int layersDone) {
  const auto done = [&](CacheLayer layer) { return next.cacheLayers().layerOf(layer).value() < layersDone; };
  regroup(
      next,
      [&](CacheLayer a, CacheLayer b) {
        return done(a) == done(b) && (done(a) || before.groupOf[at(a)] == before.groupOf[at(b)]);
      },
      [&](CacheLayer layer) { return done(layer) ? next.group(layer) : before.group(layer); },
      [](CacheLayer, CacheLayer) {});
}

/// The present state with the maps that the mirror demands and its rows in slots anew, if a check of shape finds
/// damage; else none. The rows are not there yet. A kind that derives its context makes its maps itself: then the
/// present state. Errors: capacity, if a layer has no room for all of its rows; out_of_memory.
Result<std::optional<CacheState>> mapsAnew(Session& session) {
  if (!shapeDamaged(session)) return std::optional<CacheState>();
  CacheState content = session.state();
  if (content.kind->derivesContext()) return std::optional(std::move(content));
  const bool cachePhases = session.manifest().position == PositionMode::Cache;
  for (LayerGroup& group : content.groups) {
    group.map = mapByMirror(content, group, cachePhases);
    group.absent = content.length() - static_cast<std::int32_t>(group.map->size());
    group.idSums = group.phasedSums = {};
  }
  Result<CacheState> placed = placedAgain(session, content);
  if (!placed) {
    Error error = placed.error();
    error.what = "nothing was rebuilt";
    return error;
  }
  markRows(*placed, placed->context.span(),
           Tick(content.tick.value() + 1));  // before rows are computed by their states
  return std::optional(placed.take());
}

/// Rebuilds the session over such a state. A cancelled rebuild leaves the layers that it has not reached as they were.
Result<Rebuilt> rebuiltOver(const CacheState& anew, Session& session, CallContext& call) {
  SessionParts& parts = call.parts;
  const bool derives = anew.kind->derivesContext();
  if (!derives) parts.layouts.restart(parts.store, anew);
  Rebuilt out = KV_TRY(session.kind().rebuild(anew, call));
  if (!out.commit) return out;
  CacheState& next = out.commit->state;
  if (out.outcome.cancelled && !derives) keepMaps(next, session.state(), out.outcome.layersDone);
  markRows(next, next.context.span(), next.tick);
  parts.layouts.restart(parts.store, next);
  out.commit->severed = true;
  return out;
}

}  // namespace

Result<RebuildOutcome> Session::rebuild() {
  KV_TRY(noOpenTick());
  beginDeeds();
  if (m_health.status == SessionState::Broken) m_parts.store.log().spoil();
  const Result<std::optional<CacheState>> made = guarded(kCallRefused, [&]() -> Result<std::optional<CacheState>> {
    Result<std::optional<CacheState>> maps = mapsAnew(*this);
    if (!maps || !*maps) return maps;
    m_history.forgetOlder(m_parts, false);                                            // rows come to lie over theirs
    if (!m_parts.layouts.inPlace()) m_parts.layouts.restart(m_parts.store, state());  // they held slots
    return maps;
  });
  if (!made) return made.error();
  const std::optional<CacheState>& anew = *made;
  Trace trace;
  CallContext call = callContext(trace);
  Result<Rebuilt> rebuilt =
      guarded(kCallRefused, [&] { return anew ? rebuiltOver(*anew, *this, call) : kind().rebuild(state(), call); });
  if (rebuilt && rebuilt->commit)
    if (const Status settled = committed(std::move(*rebuilt->commit)); !settled) rebuilt = settled.error();
  if (!rebuilt && !takenBack() && !m_history.replaying()) {
    loseRows();
    markBroken(rebuilt.error().text());
    publish();
  }
  if (!rebuilt) return rebuilt.error();
  if (!rebuilt->commit) return std::move(rebuilt->outcome);
  if (!rebuilt->outcome.cancelled && !m_history.replaying()) m_health.alignment.rebuilt(timeline());
  check(true);
  return std::move(rebuilt->outcome);
}

}  // namespace kvlab
