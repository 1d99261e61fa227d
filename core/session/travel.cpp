// SPDX-License-Identifier: Apache-2.0
// Moves a session through its history: from one kept state to the next, or by executing commands again.
#include "core/api/guarded.h"
#include "core/layout/row_swap.h"
#include "core/parts/cache_kind.h"
#include "core/parts/storage_plan.h"
#include "core/session/parts_before.h"
#include "core/session/settings.h"
#include "core/session/storage.h"
#include "core/session/truth.h"

namespace kvlab {
namespace {

/// [layers] sizes of the pools.
std::vector<std::int32_t> poolSlots(const CacheStore& store) {
  std::vector<std::int32_t> out;
  for (const CacheLayer layer : store.layers()) out.push_back(store.pool(layer).slots());
  return out;
}

/// Storage as another manifest of the same session wants it, empty. Errors: out_of_memory; the pools may be empty then.
Status restock(SessionParts& parts, const Manifest& wanted) {
  KV_TRY(takeManifest(parts, wanted));
  parts.capacity = parts.kind->sizes(wanted, parts.model->config()).capacity;
  return freshStorage(parts);
}

/// Gives the session the anchor's storage, with its rows in their slots and all other slots free. Errors: as
/// restock().
Status returnTo(SessionParts& parts, const Anchor& anchor) {
  KV_TRY(restock(parts, anchor.manifest));
  parts.layouts.restart(parts.store, anchor.state);
  writeRows(parts, anchor.state, anchor.rows);
  return ok();
}

using Swap = std::function<Result<std::int64_t>(const Placed& to)>;

/// Goes to an entry whose rows `swap` brings into pools like those that it had.
Result<std::int64_t> swapPools(Session& session, int entry, const StoredAs& stored, const Swap& swap) {
  SessionParts& parts = session.parts();
  PartsBefore before(session);
  copyStorage(stored.manifest, parts.manifest);
  parts.capacity = parts.kind->sizes(parts.manifest, parts.model->config()).capacity;
  NewPools other = KV_TRY(newPools(parts, *session.timeline().entry(entry).state(), stored.rows));
  const std::int64_t bytes = KV_TRY(swap({other.content, other.store}));
  CacheState to = std::move(other.content);
  install(parts, std::move(other));
  session.history().poolsChanged();
  session.history().select(entry, std::move(to));
  before.keep();
  return bytes;
}

/// Goes to a neighbour in the timeline whose state is kept; bytes read and written. On error nothing has changed, or
/// the session is broken.
Result<std::int64_t> stepTo(Session& session, int next) {
  SessionParts& parts = session.parts();
  History& history = session.history();
  const int here = session.timeline().currentId();
  const bool back = session.timeline().entry(here).parent == next;
  const int edge = back ? here : next;
  const Timeline::Kept& between = *session.timeline().entry(edge).kept;
  const bool apart = between.apart;
  if (!apart && between.rows.layers.empty()) {
    history.select(next);
    return std::int64_t{0};
  }
  if (apart) history.setApart(parts);
  const Swap swap = [&](const Placed& there) {
    Result<std::int64_t> bytes = history.exchange(edge, [&](KeptRows& kept) {
      return swapRows({session.state(), parts.store}, there, kept, apart);
    });
    if (bytes || bytes.error().code == "not_kept" || &there.store != &parts.store) return bytes;
    session.loseRows();
    session.markBroken(bytes.error().text());
    return bytes;
  };
  if (between.stored) {
    const std::int64_t bytes = KV_TRY(swapPools(session, next, back ? *between.storedBefore : *between.stored, swap));
    if (apart) parts.layouts.restart(parts.store, session.state());
    return bytes;
  }
  CacheState to = *session.timeline().entry(next).state();
  if (session.timeline().entry(next).kept->pools != history.pools()) to = KV_TRY(placedAgain(session, to));
  const std::int64_t bytes = KV_TRY(swap({to, parts.store}));
  history.select(next, std::move(to));
  if (apart) parts.layouts.restart(parts.store, session.state());
  return bytes;
}

}  // namespace

Status Session::travel(int id, std::function<void()> witness, std::optional<int> branch) {
  KV_TRY(noOpenTick());
  Health before = m_health;
  m_parts.store.deeds().clear();
  const CacheState left = state();
  const bool passed = !witness && m_history.clean() && m_history.lies(id);  // rows that both states have stay
  m_witness = std::move(witness);
  Status done = reach(id);
  m_witness = {};
  m_parts.store.deeds().clear();
  if (done) {
    if (branch && timeline().branches()[at(*branch)].name != timeline().branch()) m_publisher.leap();
    if (branch) m_history.follow(*branch);
    m_pending.clear();
    m_health.status = state().length() ? SessionState::Ready : SessionState::Empty;
    m_health.reason.clear();
    m_health.alignment.travelled(left.tick, timeline(), state());
    // If memory is short, the next tick makes the logits.
    if (!state().logits) static_cast<void>(refreshLogits(*this));
    checkChange(&left, passed);
  } else if (m_health.status != SessionState::Broken) {
    m_health.status = before.status;
    m_health.reason = before.reason;
    m_health.alignment = std::move(before.alignment);
  }
  m_health.report = timeline().current().report;
  publish();
  return done;
}

/// Restores a kept state, or executes commands again from the nearest state before it that there is. On error the
/// session is where it was, or broken.
Status Session::reach(int id) {
  const int here = timeline().currentId(), kept = timeline().keptUpTo(id);
  if (m_witness) return replay(id, here, whereabouts());
  const bool broken = m_health.status == SessionState::Broken;
  if (kept >= 0 && (!broken || kept == id)) {
    const std::optional<Whereabouts> back = kept == id ? std::nullopt : std::optional(whereabouts());
    const Status gone = walk(kept);
    if (gone) return back ? replay(id, kept, *back) : ok();
    if (!broken && m_health.status == SessionState::Broken) return gone;
  }
  return replay(id, std::max(timeline().anchored(id), 0), whereabouts());
}

/// Goes from one kept state to the next; the last one's rules are in force then. On error the session is where it was,
/// or broken.
Status Session::walk(int id) {
  const int here = timeline().currentId();
  const auto go = [this](int target) -> Status {
    m_health.bytesMoved = 0;
    for (const int next : timeline().way(target)) m_health.bytesMoved += KV_TRY(stepTo(*this, next));
    return ok();
  };
  const bool broken = m_health.status == SessionState::Broken;
  const std::shared_ptr<const Manifest> rules = state().rules;
  const Status gone = go(id);
  if (gone) {
    if (state().rules != rules) followRules(m_parts, state());
    m_history.makeRoom(m_parts, 0);
    return ok();
  }
  if (!broken && m_health.status == SessionState::Broken) return gone;
  KV_TRY(go(here));
  return gone;
}

/// Begins to execute commands again behind the present entry, an entry with an anchor, or the opening. Returns the
/// timeline until then. On error it has not begun, and the pools may be empty.
Result<Timeline> Session::startAt(int entry) {
  if (entry > 0 && entry == timeline().currentId() && m_health.status != SessionState::Broken)
    return m_history.beginReplay(m_parts.store);
  m_history.leave(m_parts);
  if (entry > 0) {
    const std::shared_ptr<const Anchor> anchor = timeline().entry(entry).anchor;
    KV_TRY(returnTo(m_parts, *anchor));
    return m_history.beginReplay(CacheState(anchor->state), entry);
  }
  KV_TRY(restock(m_parts, m_parts.opened));  // pools grow again where they grew, so rows get the same slots
  return m_history.beginReplay(emptyState(m_parts), 0);
}

/// Executes the commands on the path from one entry, see startAt(), to another. The timeline keeps its entries and the
/// states on that path. On error the session is back in the state of `back`.
Status Session::replay(int id, int from, const Whereabouts& back) {
  const std::vector<PastCommand> all = m_history.commands(id, from);
  const std::vector<Action> pending = m_pending;
  const std::vector<std::int32_t> slots = poolSlots(m_parts.store);
  m_witnessed = timeline().entry(from).depth;
  Result<Timeline> kept = guarded("the history did not go there", [&] { return startAt(from); });
  Status done = kept ? ok() : Status(kept.error());
  for (std::size_t i = 0; i < all.size() && done; ++i) {
    m_pending.clear();  // each command brings its own pending actions
    if (const Result<nlohmann::json> result = m_history.executeAgain(*this, all[i]); !result) done = result.error();
  }
  bool counted = false;
  if (done) {
    counted = m_history.endReplay(kept.take(), id, {});
  } else {
    CacheState there = back.anchor->state;
    const Status gone = guarded("the history did not go back", [&] { return returnTo(m_parts, *back.anchor); });
    if (!gone) markBroken(gone.error().text());
    if (poolSlots(m_parts.store) != slots) m_history.poolsChanged();
    if (kept) m_history.endReplay(kept.take(), back.entry, std::move(there));
  }
  m_pending = pending;
  if (!counted) m_parts.layouts.restart(m_parts.store, state());
  return done;
}

}  // namespace kvlab
