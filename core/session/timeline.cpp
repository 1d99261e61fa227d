// SPDX-License-Identifier: Apache-2.0
#include "core/session/timeline.h"

#include <algorithm>

namespace kvlab {
void Timeline::start(const CacheState& state) {
  m_entries = {Entry{}};
  m_entries[0].verb = "open";
  m_entries[0].tick = state.tick;
  m_entries[0].state = state;
  m_branches = {{"main", 0}};
  m_current = m_branch = 0;
  m_bytes = 0;
}

Timeline Timeline::trunk(const CacheState& state) const {
  Timeline out;
  for (int id : path(m_current)) {
    const Entry& from = entry(id);
    Entry to{.verb = from.verb, .args = from.args, .tick = from.tick, .report = from.report, .left = from.left};
    if (out.m_entries.empty()) {
      out.m_entries.push_back(std::move(to));
      out.m_branches = {{"main", 0}};
    } else {
      out.push(std::move(to));
    }
  }
  out.m_entries[at(out.m_current)].state = state;
  return out;
}

void Timeline::push(Entry entry) {
  const int id = size();
  if (m_branches[at(m_branch)].tip != m_current) {
    m_branches.push_back({"branch-" + std::to_string(m_branches.size()), m_current});
    m_branch = static_cast<int>(m_branches.size()) - 1;
  }
  entry.parent = m_current;
  entry.depth = current().depth + 1;
  m_bytes += entry.bytes;
  m_entries[at(m_current)].children.push_back(id);
  m_entries.push_back(std::move(entry));
  m_branches[at(m_branch)].tip = m_current = id;
}

std::vector<int> Timeline::path(int id) const {
  std::vector<int> out;
  for (; id >= 0; id = entry(id).parent) out.push_back(id);
  std::reverse(out.begin(), out.end());
  return out;
}

bool Timeline::onPath(int id, int tip) const {
  for (; tip >= 0; tip = entry(tip).parent)
    if (tip == id) return true;
  return false;
}

int Timeline::redoTarget() const {
  int next = m_branches[at(m_branch)].tip;
  if (next == m_current || !onPath(m_current, next)) return -1;
  while (entry(next).parent != m_current) next = entry(next).parent;
  return next;
}

int Timeline::find(Tick tick) const {
  for (int id = m_branches[at(m_branch)].tip; id >= 0; id = entry(id).parent)
    if (entry(id).tick == tick) return id;
  return -1;
}

int Timeline::oldestKept() const {
  int oldest = m_current;
  for (int id = m_current; id >= 0 && entry(id).state; id = entry(id).parent) oldest = id;
  return oldest;
}

void Timeline::dropAll(CacheStore& store, bool freeSlots) {
  if (freeSlots)
    while (dropOne(store)) {
    }
  for (int id = 0; id < size(); ++id) {
    if (id == m_current) continue;
    m_entries[at(id)].state.reset();
    m_entries[at(id)].added = m_entries[at(id)].freed = {};
  }
  m_entries[at(m_current)].added = m_entries[at(m_current)].freed = {};
  m_bytes = 0;
}

void Timeline::adopt(int id, const CacheState& state) {
  for (Entry& entry : m_entries) {
    entry.state.reset();
    entry.added = entry.freed = {};
    entry.bytes = 0;
  }
  m_bytes = 0;
  m_current = id;
  m_entries[at(id)].state = state;
}

/// Drops a kept state without kept successors and frees the slots that it added: no other state names them.
void Timeline::dropLeaf(int id, CacheStore& store) {
  Entry& entry = m_entries[at(id)];
  store.release(entry.added);
  m_bytes -= entry.bytes;
  entry.state.reset();
  entry.added = entry.freed = {};
  entry.bytes = 0;
}

/// Drops the oldest kept state, which has one kept successor, and frees the slots that the successor freed.
void Timeline::dropOldest(int id, CacheStore& store) {
  m_entries[at(id)].state.reset();
  for (int child : m_entries[at(id)].children) {
    Entry& next = m_entries[at(child)];
    if (!next.state) continue;
    store.release(next.freed);
    m_bytes -= next.bytes;
    next.added = next.freed = {};
    next.bytes = 0;
  }
}

bool Timeline::dropOne(CacheStore& store) {
  // Drop side branches and the redo future first: leaves that do not lead to the current state.
  for (int id = 0; id < size(); ++id) {
    if (!m_entries[at(id)].state || onPath(id, m_current)) continue;
    const std::vector<int>& children = m_entries[at(id)].children;
    const bool leaf =
        std::none_of(children.begin(), children.end(), [&](int child) { return entry(child).state.has_value(); });
    if (!leaf) continue;
    dropLeaf(id, store);
    return true;
  }
  const int oldest = oldestKept();
  if (oldest == m_current) return false;
  dropOldest(oldest, store);
  return true;
}

bool Timeline::makeRoom(CacheStore& store, std::int32_t slots, std::int64_t bytes) {
  while (store.available() < slots || m_bytes > bytes)
    if (!dropOne(store)) return store.available() >= slots;
  return true;
}

}  // namespace kvlab
