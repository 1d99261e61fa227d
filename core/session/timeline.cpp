// SPDX-License-Identifier: Apache-2.0
#include "core/session/timeline.h"

#include <algorithm>
#include <limits>

namespace kvlab {
namespace {

/// A single tick that only generates.
bool isPlainTick(const Timeline::Entry& entry) {
  if (entry.verb != "step" && entry.verb != "stepAction") return false;
  if (!entry.args.is_object()) return true;
  const auto ticks = entry.args.find("n");
  const bool one = ticks == entry.args.end() || ticks->is_null() || *ticks == 1;
  return one && !entry.args.contains("pending") && !entry.args.contains("tokens");
}

}  // namespace

std::int64_t columnBytes(const CacheState& state) {
  return 12 * std::int64_t{state.length()} + (state.wlod ? 32 * std::int64_t{state.wlod->count()} : 0);
}

void Timeline::start(const CacheState& state, int pools, std::int32_t depth, std::int64_t anchorBytes) {
  m_entries = {Entry{}};
  m_entries[0].depth = depth;
  m_entries[0].verb = "open";
  m_entries[0].tick = state.tick;
  m_entries[0].state = state;
  m_entries[0].pools = pools;
  m_branches = {{"main", 0}};
  m_along.assign(at(depth) + 1, 0);
  m_current = m_branch = 0;
  m_firstFull = kNever;
  m_bytes = 0;
  m_anchors.clear();
  m_anchorBytes = anchorBytes;
}

void Timeline::noteCheck(const CheckMade& made) {
  std::vector<CheckMade>& checks = m_entries[at(m_current)].checks;
  std::erase_if(checks, [made](CheckMade one) {
    one.visit = made.visit;
    return one == made;
  });
  checks.push_back(made);
  if (made.full) m_firstFull = std::min(m_firstFull, depth());
}

Timeline Timeline::trunkTo(int tip, const CacheState& state, bool anchors) const {
  Timeline out;
  out.m_firstFull = m_firstFull;
  for (int id : path(tip)) {
    const Entry& from = entry(id);
    Entry to{.work = from.work,
             .verb = from.verb,
             .args = from.args,
             .tick = from.tick,
             .words = from.words,
             .report = from.report,
             .checks = from.checks,
             .left = from.left};
    if (out.m_entries.empty()) {
      out.m_entries.push_back(std::move(to));
      out.m_branches = {{"main", 0}};
      out.m_along = {0};
    } else {
      out.push(std::move(to));
    }
    if (anchors && from.anchor) out.setAnchor(from.anchor, std::numeric_limits<std::int64_t>::max());
  }
  out.m_current = depth();
  out.m_entries[at(out.m_current)].state = state;
  return out;
}

void Timeline::push(Entry entry) {
  const int id = size();
  if (m_branches[at(m_branch)].tip != m_current) {
    m_branches.push_back({"branch-" + std::to_string(m_branches.size()), m_current});
    m_branch = static_cast<int>(m_branches.size()) - 1;
    m_along.resize(at(depth()) + 1);
  }
  const bool goesOn = entry.verb.empty() || (isPlainTick(entry) && isPlainTick(this->entry(current().edit)));
  entry.edit = goesOn && m_current > 0 ? current().edit : id;
  entry.parent = m_current;
  entry.depth = current().depth + 1;
  entry.anchored = current().anchored;
  m_bytes += entry.bytes;
  m_entries[at(m_current)].children.push_back(id);
  m_entries.push_back(std::move(entry));
  m_branches[at(m_branch)].tip = m_current = id;
  m_along.push_back(id);
}

void Timeline::setAnchor(std::shared_ptr<const Anchor> anchor, std::int64_t most) {
  Entry& here = m_entries[at(m_current)];
  if (here.anchor) return;
  m_anchorBytes += anchor->bytes;
  m_anchors.insert(std::ranges::upper_bound(m_anchors, m_current), m_current);
  here.anchor = std::move(anchor);
  here.anchored = m_current;
  while (m_anchorBytes > most && !m_anchors.empty()) dropAnchor();
}

/// Of all anchors goes the one without which the way between its neighbours is shortest; of equal ones the oldest.
void Timeline::dropAnchor() {
  const auto work = [this](std::size_t i) { return i < m_anchors.size() ? entry(m_anchors[i]).work : 0; };
  std::size_t least = 0;
  for (std::size_t i = 1; i + 1 < m_anchors.size(); ++i)
    if (work(i + 1) - work(i - 1) < work(least + 1) - (least ? work(least - 1) : 0)) least = i;
  Entry& gone = m_entries[at(m_anchors[least])];
  m_anchorBytes -= gone.anchor->bytes;
  gone.anchor.reset();
  m_anchors.erase(m_anchors.begin() + static_cast<std::ptrdiff_t>(least));
}

int Timeline::anchored(int id) const {
  for (id = entry(id).anchored; id >= 0 && !entry(id).anchor;)
    id = entry(id).parent < 0 ? -1 : entry(entry(id).parent).anchored;
  return id;
}

int Timeline::keptUpTo(int id) const {
  if (entry(id).state) return id;
  for (; id >= 0 && !entry(id).anchor; id = entry(id).parent) {
    const int before = entry(id).parent;
    if (before < 0 || !entry(before).state) continue;
    if (!entry(id).verb.empty() || (onlyTicks(id) && entry(id).tick != entry(before).tick)) return before;
  }
  return -1;
}

bool Timeline::onlyTicks(int id) const {
  while (id > 0 && entry(id).verb.empty()) id = entry(id).parent;
  const nlohmann::json& args = entry(id).args;
  return entry(id).verb == "run" || (entry(id).verb == "step" && !(args.is_object() && args.contains("tokens")));
}

std::vector<int> Timeline::path(int id, int first) const {
  std::vector<int> out;
  for (; id >= first; id = entry(id).parent) out.push_back(id);
  std::reverse(out.begin(), out.end());
  return out;
}

/// [entries] whether they lead to the current one.
std::vector<bool> Timeline::onPath() const {
  std::vector<bool> out(m_entries.size());
  for (int id : path(m_current)) out[at(id)] = true;
  return out;
}

std::vector<bool> Timeline::inPools() const {
  const auto beside = [this](int id) { return !entry(id).apart && entry(id).kept.layers.empty(); };
  std::vector<bool> out(m_entries.size());
  for (int id = m_current; id >= 0 && entry(id).state; id = beside(id) ? entry(id).parent : -1) out[at(id)] = true;
  for (int id = 1; id < size(); ++id)
    if (entry(id).state && beside(id) && out[at(entry(id).parent)]) out[at(id)] = true;
  return out;
}

/// Along a branch the first entries of edits ascend.
int Timeline::editEnd(int id) const {
  const auto later = [this](int edit, int other) { return edit < entry(other).edit; };
  return *std::prev(std::upper_bound(m_along.begin() + entry(id).depth, m_along.end(), entry(id).edit, later));
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

std::vector<int> Timeline::way(int id) const {
  std::vector<int> out, forward;
  for (int from = m_current; from != id;) {
    if (entry(from).depth >= entry(id).depth) {
      out.push_back(from = entry(from).parent);
    } else {
      forward.push_back(id);
      id = entry(id).parent;
    }
  }
  out.insert(out.end(), forward.rbegin(), forward.rend());
  return out;
}

void Timeline::refine(const CacheState& state, int pools) {
  m_entries[at(m_current)].state = state;
  m_entries[at(m_current)].pools = pools;
}

Result<std::int64_t> Timeline::exchange(int id, const std::function<Result<std::int64_t>(KeptRows&)>& swaps) {
  Entry& entry = m_entries[at(id)];
  const std::int64_t before = entry.kept.bytes();
  Result<std::int64_t> moved = swaps(entry.kept);
  const std::int64_t more = entry.kept.bytes() - before;
  entry.bytes += more;
  m_bytes += more;
  return moved;
}

namespace {

/// Details vary with the time that things took. Here they do not, so that the same commands drop the same states again.
std::int64_t bytesOf(const std::vector<Event>& events) {
  constexpr std::int64_t kDetail = 32;
  return std::ssize(events) * (std::int64_t{sizeof(Event)} + kDetail);
}

std::shared_ptr<const TickReport> withEvents(const TickReport& report, const std::vector<Event>& events) {
  TickReport out = report;
  out.events = events;
  return std::make_shared<const TickReport>(std::move(out));
}

}  // namespace

void Timeline::setReport(std::shared_ptr<const TickReport> report) {
  Entry& here = m_entries[at(m_current)];
  here.report = std::move(report);
  m_bytes -= here.eventBytes;
  m_bytes += here.eventBytes = bytesOf(here.report->events);
}

/// Events of a tick come back with its state, so they go with it.
void Timeline::dropState(Entry& entry) {
  entry.state.reset();
  m_bytes -= std::exchange(entry.eventBytes, 0);
  if (entry.report && !entry.report->events.empty()) entry.report = withEvents(*entry.report, {});
}

/// What holds between a state and its parent's while both are kept.
void Timeline::forget(Entry& entry) {
  entry.added = entry.freed = {};
  entry.kept = {};
  entry.storedBefore = entry.stored = {};
  entry.bytes = 0;
}

void Timeline::dropAll(CacheStore& store, bool freeSlots) {
  if (freeSlots)
    while (dropOne(store)) {
    }
  for (int id = 0; id < size(); ++id) {
    if (id != m_current) dropState(m_entries[at(id)]);
    forget(m_entries[at(id)]);
  }
  m_bytes = current().eventBytes;
}

bool Timeline::adopt(int id, Timeline again) {
  for (Entry& entry : m_entries) {
    dropState(entry);
    forget(entry);
  }
  m_bytes = again.m_bytes;
  m_current = id;
  const bool same = depth() - again.m_entries[0].depth + 1 == again.size();
  const std::size_t known = same ? again.m_entries.size() : 1;
  for (std::size_t back = 1; back <= known; ++back, id = entry(id).parent) {
    moveState(again.m_entries[again.m_entries.size() - back], m_entries[at(id)]);
  }
  return same;
}

/// Moves a state with all that holds between it and its parent's.
void Timeline::moveState(Entry& from, Entry& to) {
  to.state = std::exchange(from.state, {});
  to.apart = from.apart;
  to.added = std::move(from.added);
  to.freed = std::move(from.freed);
  to.kept = std::move(from.kept);
  to.storedBefore = std::move(from.storedBefore);
  to.stored = std::move(from.stored);
  to.bytes = from.bytes;
  to.pools = from.pools;
  to.eventBytes = std::exchange(from.eventBytes, 0);
  if (from.report) to.report = to.report ? withEvents(*to.report, from.report->events) : from.report;
  forget(from);
}

Timeline Timeline::takeKept(CacheStore& store) {
  while (dropBeside(store)) {
  }
  const std::vector<int> kept = path(m_current, oldestKept());
  Timeline out;
  out.start(*entry(kept.front()).state, 0, entry(kept.front()).depth, m_anchorBytes);
  for (const int id : kept) {
    if (id != kept.front()) out.push(Entry());
    out.m_entries[at(out.m_current)].tick = entry(id).tick;
    moveState(m_entries[at(id)], out.m_entries[at(out.m_current)]);
  }
  out.m_bytes = std::exchange(m_bytes, 0);
  return out;
}

/// Drops a kept state without kept successors and frees the slots that it added: no other state names them.
void Timeline::dropLeaf(int id, CacheStore& store) {
  Entry& entry = m_entries[at(id)];
  store.release(entry.added);
  m_bytes -= entry.bytes;
  dropState(entry);
  forget(entry);
}

/// Drops the oldest kept state, which has one kept successor, and frees the slots that the successor freed.
void Timeline::dropOldest(int id, CacheStore& store) {
  dropState(m_entries[at(id)]);
  for (int child : m_entries[at(id)].children) {
    Entry& next = m_entries[at(child)];
    if (!next.state) continue;
    store.release(next.freed);
    m_bytes -= next.bytes;
    forget(next);
  }
}

/// Drops a state of a side branch or of the redo future, a leaf that does not lead to the current state.
bool Timeline::dropBeside(CacheStore& store) {
  if (!canRedo() && m_branches.size() == 1) return false;
  const std::vector<bool> leads = onPath();
  for (int id = 0; id < size(); ++id) {
    if (!m_entries[at(id)].state || leads[at(id)]) continue;
    const std::vector<int>& children = m_entries[at(id)].children;
    const bool leaf =
        std::none_of(children.begin(), children.end(), [&](int child) { return entry(child).state.has_value(); });
    if (!leaf) continue;
    dropLeaf(id, store);
    return true;
  }
  return false;
}

bool Timeline::dropOne(CacheStore& store) {
  if (dropBeside(store)) return true;
  const int oldest = oldestKept();
  if (oldest == m_current) return false;
  dropOldest(oldest, store);
  return true;
}

void Timeline::setApart(const CacheStore& store) {
  const std::vector<bool> leads = onPath();
  for (int id = 1; id < size(); ++id) {
    Entry& edge = m_entries[at(id)];
    if (!edge.state || edge.apart || !entry(edge.parent).state) continue;
    const CacheState& far = leads[at(id)] ? *entry(edge.parent).state : *edge.state;
    RowLog log;
    log.begin(far, std::numeric_limits<std::int64_t>::max());
    store.keep(leads[at(id)] ? edge.freed : edge.added, log);
    edge.kept.append(*log.take());
    edge.added = edge.freed = {};
    edge.apart = true;
    m_bytes -= edge.bytes;
    m_bytes += edge.bytes = columnBytes(far) + edge.kept.bytes();
  }
}

bool Timeline::makeRoom(CacheStore& store, std::int32_t slots, Placing placing, std::int64_t bytes) {
  while (store.available(placing) < slots || m_bytes + m_anchorBytes > bytes)
    if (!dropOne(store)) return store.available(placing) >= slots;
  return true;
}

}  // namespace kvlab
