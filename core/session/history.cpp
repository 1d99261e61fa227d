// SPDX-License-Identifier: Apache-2.0
#include "core/session/history.h"

#include "core/state/row_writers.h"

namespace kvlab {
namespace {

/// Bytes that keeping the state before a commit costs: the rows that the commit freed, and the columns by row and by
/// entry.
std::int64_t costOf(const Commit& commit, const CacheStore& store) {
  std::int64_t bytes = 12 * std::int64_t{commit.state.length()};
  if (commit.state.wlod) bytes += 32 * std::int64_t{commit.state.wlod->count()};
  for (const CacheLayer layer : idRange<CacheLayer>(0, commit.freed.size()))
    bytes += store.pool(layer).stride() * static_cast<std::int64_t>(commit.freed[at(layer)].size());
  return bytes;
}

}  // namespace

/// The only function that replaces the present state.
void History::become(CacheState state) {
  m_state = std::move(state);
  m_measured = {};
}

void History::start(CacheState state) {
  m_timeline.start(state);
  become(std::move(state));
}

void History::startFrom(const History& other, CacheState state) {
  m_timeline = other.m_timeline.trunk(state);
  become(std::move(state));
  m_execute = other.m_execute;
}

void History::commit(Commit commit, SessionParts& parts) {
  noteWriters(m_state, commit, m_timeline.depth() + 1);
  Timeline::Entry entry;
  entry.verb = std::exchange(m_verb, {});
  entry.args = std::exchange(m_args, nullptr);
  entry.tick = commit.state.tick;
  entry.state = commit.state;
  entry.bytes = costOf(commit, parts.store);
  entry.added = std::move(commit.added);
  entry.freed = std::move(commit.freed);
  entry.left = std::move(commit.left);
  become(std::move(commit.state));
  m_timeline.push(std::move(entry));
  if (m_commitsLeft > 0) --m_commitsLeft;
  if (commit.severed || commit.rewritten || parts.layouts.inPlace()) forgetOlder(parts, !commit.severed);
  else makeRoom(parts, 0);
}

void History::refine(CacheState state) {
  m_timeline.refine(state);
  m_state = std::move(state);
}

void History::select(int entry) {
  m_timeline.select(entry);
  become(*m_timeline.entry(entry).state);
}

void History::beginCommand(std::string verb, nlohmann::json args) {
  m_verb = std::move(verb);
  m_args = std::move(args);
}

std::vector<PastCommand> History::commands(int id) const {
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

Result<nlohmann::json> History::executeAgain(Session& session, const PastCommand& command) {
  if (command.commits == 0) return m_execute(session, command.verb, command.args);
  m_commitsLeft = command.commits;
  Result<nlohmann::json> result = m_execute(session, command.verb, command.args);
  const std::int64_t left = std::exchange(m_commitsLeft, -1);
  if (left == 0 || !result) return left == 0 ? nlohmann::json(nullptr) : result;
  return Error{
      "not_replayed", command.verb + " could not be done again",
      "it made " + std::to_string(command.commits - left) + " of " + std::to_string(command.commits) + " commits",
      "a cancelled command or an armed fault cannot be executed again; start from a saved cache"};
}

Timeline History::beginReplay(CacheState empty) {
  m_replaying = true;
  Timeline kept = std::move(m_timeline);
  start(std::move(empty));
  return kept;
}

void History::endReplay(Timeline kept, int id, std::optional<CacheState> back) {
  m_replaying = false;
  m_timeline = std::move(kept);
  if (back) become(std::move(*back));
  m_timeline.adopt(id, m_state);
}

}  // namespace kvlab
