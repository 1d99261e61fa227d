// SPDX-License-Identifier: Apache-2.0
// Requests, commits and the way back: pending actions, the timeline, undo, goto and re-execution.
#include <algorithm>

#include "core/session/session.h"

namespace kvlab {

Status Session::inject(std::vector<Action> actions) {
  if (Status usableNow = usable(); !usableNow) return usableNow;
  if (Result<EditPlan> planned = plan(actions); !planned) return planned.error();
  m_pending.insert(m_pending.end(), actions.begin(), actions.end());
  publish();
  return ok();
}

void Session::clearPending() {
  m_pending.clear();
  publish();
}

Result<EditPlan> Session::plan(const std::vector<Action>& actions) const {
  std::vector<Action> all = m_pending;
  all.insert(all.end(), actions.begin(), actions.end());
  Result<EditPlan> planned = [&]() -> Result<EditPlan> {
    if (!m_state.wlod) return planEdit(m_state, planRules(Source::User), std::move(all));
    Result<WlodPlan> plan = planWlod(*m_state.wlod, m_model->config().vocab, std::move(all));
    if (!plan) return plan.error();
    return asEditPlan(*m_state.wlod, *plan);
  }();
  const int before = static_cast<int>(m_pending.size());
  if (planned || !planned.error().action || *planned.error().action < before) return planned;
  Error error = planned.error();
  error.action = *error.action - before;
  error.what = "action " + std::to_string(*error.action) + " was refused";
  return error;
}

void Session::beginCommand(std::string verb, nlohmann::json args) {
  m_verb = std::move(verb);
  m_args = std::move(args);
}

/// Makes `state` current and remembers how it came about. Only the first commit of a command carries
/// the command; executing it again makes the others too.
void Session::record(CacheState state, LayerSlots added, LayerSlots freed) {
  m_state = std::move(state);
  m_status = m_state.length() ? SessionState::Ready : SessionState::Empty;
  m_brokenReason.clear();
  m_drift.reset();
  m_quantisation.reset();
  m_attention.reset();
  m_exactness.reset();
  Timeline::Entry entry;
  entry.verb = std::exchange(m_verb, {});
  entry.args = std::exchange(m_args, nullptr);
  entry.tick = m_state.tick;
  entry.state = m_state;
  for (int layer = 0; layer < m_store.layers(); ++layer)
    if (static_cast<std::size_t>(layer) < freed.size())
      entry.bytes +=
          m_store.pool(layer).stride() * static_cast<std::int64_t>(freed[static_cast<std::size_t>(layer)].size());
  if (m_state.wlod) entry.bytes += 32 * std::int64_t{m_state.wlod->count()};  // its columns by row and entry
  entry.bytes += 12 * std::int64_t{m_state.length()};                         // brightness and maps of the older state
  entry.added = std::move(added);
  entry.freed = std::move(freed);
  m_timeline.push(std::move(entry));
  if (m_commitsLeft > 0) --m_commitsLeft;
  if (m_layouts.inPlace()) m_timeline.dropAll(m_store, false);
  else m_timeline.makeRoom(m_store, 0, m_manifest.historyBytes);
}

Status Session::setBrightness(LedgerId id, double value) {
  if (Status usableNow = usable(); !usableNow) return usableNow;
  const auto found = std::find(m_state.context.begin(), m_state.context.end(), id);
  if (found == m_state.context.end())
    return Error{"out_of_range",
                 "the brightness was not set",
                 "ledger row " + std::to_string(id.value()) + " is not in the context",
                 "see pos2ledger() for what is",
                 std::nullopt,
                 "ledger",
                 id.value()};
  if (!(value >= 0 && value <= m_manifest.brightness.max))
    return Error{"out_of_range",
                 "the brightness was not set",
                 "it is outside 0 .. " + nlohmann::json(m_manifest.brightness.max).dump(),
                 "give a value in range",
                 std::nullopt,
                 "value",
                 value};
  std::vector<float> all(m_state.brightness.begin(), m_state.brightness.end());
  all[static_cast<std::size_t>(found - m_state.context.begin())] = static_cast<float>(value);
  CacheState next = m_state;
  next.brightness.assign(all);
  record(std::move(next), {}, {});
  publish();
  return ok();
}

Status Session::pin(LedgerId id, bool on) {
  if (Status usableNow = usable(); !usableNow) return usableNow;
  if (!m_state.ledger.contains(id))
    return Error{"out_of_range",
                 "the row was not pinned",
                 "there is no ledger row " + std::to_string(id.value()),
                 "ledger ids run from 0 to " + std::to_string(static_cast<int>(m_state.ledger.size()) - 1),
                 std::nullopt,
                 "ledger",
                 id.value()};
  CacheState next = m_state;
  next.ledger.change(id).pinned = on;
  record(std::move(next), {}, {});
  publish();
  return ok();
}

void Session::setOpEvents(bool on) {
  m_manifest.opEvents = on;
  m_backend->setLogging(on);
  m_info = describe();
  publish();
}

Status Session::undo() {
  if (!m_timeline.canUndo())
    return Error{"nothing_to_undo", "nothing was undone", "this is the start of the session", "redo, or go on"};
  return select(m_timeline.current().parent);
}

Status Session::redo() {
  const int next = m_timeline.redoTarget();
  if (next < 0)
    return Error{"nothing_to_redo", "nothing was redone", "this is the newest state of the branch", "undo first"};
  return select(next);
}

Status Session::goTo(Tick tick) {
  const int entry = m_timeline.find(tick);
  if (entry < 0)
    return Error{"out_of_range",
                 "the tick was not found",
                 "branch " + m_timeline.branch() + " has no tick " + std::to_string(tick.value()),
                 "ticks run from 0 to the newest one",
                 std::nullopt,
                 "tick",
                 tick.value()};
  return select(entry);
}

/// A kept state comes back as it was; another one by executing its commands again.
Status Session::select(int id) {
  Status done = ok();
  std::vector<Action> pending = std::exchange(m_pending, {});
  if (!m_timeline.entry(id).state) {
    done = replay(id);
  } else {
    m_timeline.select(id);
    m_state = *m_timeline.entry(id).state;
  }
  if (!done) m_pending = std::move(pending);
  m_status = m_state.length() ? SessionState::Ready : SessionState::Empty;
  m_brokenReason.clear();
  m_report = m_timeline.current().report;
  m_drift.reset();
  m_quantisation.reset();
  m_attention.reset();
  m_exactness.reset();
  publish();
  return done;
}

std::vector<PastCommand> Session::commands(int id) const {
  std::vector<PastCommand> out;
  const std::vector<int> path = m_timeline.path(id);
  for (std::size_t i = 1; i < path.size(); ++i) {
    const Timeline::Entry& entry = m_timeline.entry(path[i]);
    if (!entry.verb.empty()) out.push_back({entry.verb, entry.args, 0, path[i]});
    if (out.empty()) continue;
    ++out.back().commits;
    out.back().last = path[i];
  }
  return out;
}

Result<nlohmann::json> Session::executeAgain(const PastCommand& command) {
  if (command.commits == 0) return m_execute(*this, command.verb, command.args);
  m_commitsLeft = command.commits;
  Result<nlohmann::json> result = m_execute(*this, command.verb, command.args);
  const std::int64_t left = std::exchange(m_commitsLeft, -1);
  if (left == 0 || !result) return left == 0 ? nlohmann::json(nullptr) : result;
  return Error{
      "not_replayed", command.verb + " could not be done again",
      "it made " + std::to_string(command.commits - left) + " of " + std::to_string(command.commits) + " commits",
      "a cancelled command or an armed fault cannot be executed again; start from a saved cache"};
}

/// The rows of the current state as they are in the pools, for a way back.
std::vector<std::vector<std::uint8_t>> Session::copyRows() const {
  std::vector<std::vector<std::uint8_t>> out;
  for (int layer = 0; layer < m_store.layers(); ++layer) {
    const RowPool& pool = m_store.pool(layer);
    const std::span<const Slot> slots = m_state.group(layer).stored().residentSlots();
    out.emplace_back(slots.size() * static_cast<std::size_t>(pool.stride()));
    pool.readRecords(slots, out.back().data());
  }
  return out;
}

void Session::restoreRows(const std::vector<std::vector<std::uint8_t>>& rows) {
  for (int layer = 0; layer < m_store.layers(); ++layer) {
    m_store.pool(layer).writeRecords(m_state.group(layer).stored().residentSlots(),
                                     rows[static_cast<std::size_t>(layer)].data());
  }
}

/// Starts over and executes the commands on the path to `id`, up to the commit that made it. The
/// timeline keeps its entries; only the state reached is kept in it. On an error the session is where
/// it was.
Status Session::replay(int id) {
  const std::vector<PastCommand> all = commands(id);
  const CacheState before = m_state;
  const auto rows = copyRows();
  Timeline kept = std::move(m_timeline);
  // A session whose storage was changed on the way starts from what it was opened with.
  const Manifest now = m_manifest;
  const auto stored = [this](const Manifest& wanted) -> Status {
    const bool same = wanted.layout == m_manifest.layout && wanted.kvK == m_manifest.kvK &&
        wanted.kvV == m_manifest.kvV && wanted.layers == m_manifest.layers && wanted.capacity == m_manifest.capacity;
    if (same) return ok();
    m_manifest = wanted;
    m_capacity = wanted.capacity ? wanted.capacity : m_model->config().maxPositions;
    return freshStorage();
  };
  Status done = stored(m_opened);
  m_replaying = true;
  startState();
  for (std::size_t i = 0; i < all.size() && done; ++i) {
    m_pending.clear();  // a command carries what was pending when it ran
    if (const Result<nlohmann::json> result = executeAgain(all[i]); !result) done = result.error();
  }
  m_replaying = false;
  m_pending.clear();
  m_timeline = std::move(kept);
  if (!done) {
    if (Status back = stored(now); !back) breakSession(back.error().text());
    m_state = before;
    restoreRows(rows);
    id = m_timeline.currentId();
  }
  m_timeline.adopt(id, m_state);
  m_layouts.restart(m_store, m_state);
  m_info = describe();
  return done;
}

}  // namespace kvlab
