// SPDX-License-Identifier: Apache-2.0
// Moves a session through its history: restores kept states, or executes commands again.
#include "core/kinds/base/cache_kind.h"
#include "core/kinds/base/storage_plan.h"
#include "core/session/rules.h"
#include "core/session/storage.h"

namespace kvlab {
namespace {

/// Storage as another manifest of the same session wants it, empty.
Status restock(SessionParts& parts, const Manifest& wanted) {
  KV_TRY(takeManifest(parts, wanted));
  parts.capacity = parts.kind->sizes(wanted, parts.model->config()).capacity;
  return freshStorage(parts);
}

}  // namespace

Status Session::travel(int id) {
  KV_TRY(noOpenTick());
  const Health before = m_health;
  Status done = ok();
  if (timeline().entry(id).state) select(id);
  else done = replay(id);
  if (done) {
    m_pending.clear();
    m_health.status = state().length() ? SessionState::Ready : SessionState::Empty;
    m_health.reason.clear();
    checkChange();
  } else if (m_health.status != SessionState::Broken) {
    m_health.status = before.status;
    m_health.reason = before.reason;
  }
  m_health.report = timeline().current().report;
  publish();
  return done;
}

/// Restores a kept state, with the rules that it was made under.
void Session::select(int id) {
  const std::shared_ptr<const Manifest> before = state().rules;
  m_history.select(id);
  if (state().rules == before) return;
  followRules(m_parts, state());
  m_publisher.describe(m_parts);
}

/// Restarts from the opening state and executes the commands on the path to `id`. The timeline keeps its entries but
/// only the reached state. On error the session is unchanged.
Status Session::replay(int id) {
  const std::vector<PastCommand> all = m_history.commands(id);
  const std::vector<Action> pending = m_pending;
  const int here = timeline().currentId();
  const CacheState before = state();
  const std::vector<StoredRows> rows = rowsIn(m_parts, before);
  const Manifest now = manifest();
  Status done =
      storedAlike(m_parts.opened, now) ? takeManifest(m_parts, m_parts.opened) : restock(m_parts, m_parts.opened);
  Timeline kept = m_history.beginReplay(emptyState(m_parts));
  for (std::size_t i = 0; i < all.size() && done; ++i) {
    m_pending.clear();  // each command brings its own pending actions
    if (const Result<nlohmann::json> result = m_history.executeAgain(*this, all[i]); !result) done = result.error();
  }
  if (done) {
    m_history.endReplay(std::move(kept), id, {});
  } else {
    if (Status back = restock(m_parts, now); !back) markBroken(back.error().text());
    m_history.endReplay(std::move(kept), here, before);
    writeRows(m_parts, before, rows);
  }
  m_pending = pending;
  m_parts.layouts.restart(m_parts.store, state());
  m_publisher.describe(m_parts);
  return done;
}

}  // namespace kvlab
