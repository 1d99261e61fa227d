// SPDX-License-Identifier: Apache-2.0
#include "core/session/timeline.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "core/state/state_bytes.h"

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

void Timeline::start(const CacheState& state, int pools, std::int32_t depth, std::int64_t anchorBytes) {
  m_entries.clear();
  m_entries.emplace_back().depth = depth;
  m_entries[0].verb = "open";
  m_entries[0].tick = state.tick;
  m_entries[0].kept = std::make_unique<Kept>(Kept{.state = state, .pools = pools});
  m_branches = {{"main", 0}};
  m_along.assign(at(depth) + 1, 0);
  m_current = m_branch = 0;
  ++m_starts;
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

Timeline Timeline::trunk(int tip, std::int32_t depth, const CacheState& state, bool anchors) const {
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
             .left = from.left,
             .decided = from.decided};
    if (out.m_entries.empty()) {
      out.m_entries.push_back(std::move(to));
      out.m_branches = {{"main", 0}};
      out.m_along = {0};
    } else {
      out.push(std::move(to));
    }
    if (anchors && from.anchor) out.setAnchor(from.anchor, std::numeric_limits<std::int64_t>::max());
  }
  out.m_current = depth;
  out.m_entries[at(out.m_current)].kept = std::make_unique<Kept>(Kept{.state = state});
  return out;
}

void Timeline::roomForOne() {
  const auto more = [](auto& list) {
    if (list.size() == list.capacity()) list.reserve(2 * list.size() + 8);
  };
  more(m_entries);
  more(m_along);
  more(m_branches);
  more(m_entries[at(m_current)].children);
}

void Timeline::push(Entry entry) {
  roomForOne();
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
  if (entry.kept) m_bytes += entry.kept->bytes;
  m_entries[at(m_current)].children.push_back(id);
  m_entries.push_back(std::move(entry));
  m_branches[at(m_branch)].tip = m_current = id;
  m_along.push_back(id);
}

void Timeline::setAnchor(std::shared_ptr<const Anchor> anchor, std::int64_t most) {
  Entry& here = m_entries[at(m_current)];
  if (here.anchor) return;
  here.anchor = std::move(anchor);
  here.anchored = m_current;
  const auto place = std::ranges::upper_bound(m_anchors, m_current, {}, &Standing::entry);
  const auto i = static_cast<std::size_t>(m_anchors.insert(place, {m_current}) - m_anchors.begin());
  weighAnchor(i);
  weighAnchor(i + 1);
  while (m_anchorBytes > most && !m_anchors.empty()) dropAnchor();
}

/// The first anchor shares its ledger with the states that come.
void Timeline::weighAnchor(std::size_t i) {
  if (i >= m_anchors.size()) return;
  const Anchor& anchor = *entry(m_anchors[i].entry).anchor;
  CacheState first;
  first.ledger = anchor.state.ledger;
  const CacheState& before = i > 0 ? entry(m_anchors[i - 1].entry).anchor->state : first;
  m_anchorBytes -= m_anchors[i].bytes;
  m_anchorBytes += m_anchors[i].bytes = anchor.bytes + bytesBeside(anchor.state, before);
}

/// Drops the anchor without which the way between its neighbours is shortest; among equal ones the oldest.
void Timeline::dropAnchor() {
  const auto work = [this](std::size_t i) { return i < m_anchors.size() ? entry(m_anchors[i].entry).work : 0; };
  std::size_t least = 0;
  for (std::size_t i = 1; i + 1 < m_anchors.size(); ++i)
    if (work(i + 1) - work(i - 1) < work(least + 1) - (least ? work(least - 1) : 0)) least = i;
  m_anchorBytes -= m_anchors[least].bytes;
  m_entries[at(m_anchors[least].entry)].anchor.reset();
  m_anchors.erase(m_anchors.begin() + static_cast<std::ptrdiff_t>(least));
  weighAnchor(least);
}

int Timeline::anchored(int id) const {
  for (id = entry(id).anchored; id >= 0 && !entry(id).anchor;)
    id = entry(id).parent < 0 ? -1 : entry(entry(id).parent).anchored;
  return id;
}

int Timeline::keptUpTo(int id) const {
  if (entry(id).kept) return id;
  for (; id >= 0 && !entry(id).anchor; id = entry(id).parent) {
    const int before = entry(id).parent;
    if (before < 0 || !entry(before).kept) continue;
    if (!entry(id).verb.empty() || (onlyTicks(id) && entry(id).tick != entry(before).tick)) return before;
  }
  return -1;
}

int Timeline::commandOf(int id) const {
  while (id > 0 && entry(id).verb.empty()) id = entry(id).parent;
  return id;
}

bool Timeline::onlyTicks(int id) const {
  const Entry& command = entry(commandOf(id));
  const bool given = command.args.is_object() && command.args.contains("tokens");
  return command.verb == "run" || (command.verb == "step" && !given);
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
  const auto beside = [this](int id) { return !entry(id).kept->apart && entry(id).kept->rows.layers.empty(); };
  std::vector<bool> out(m_entries.size());
  for (int id = m_current; id >= 0 && entry(id).kept; id = beside(id) ? entry(id).parent : -1) out[at(id)] = true;
  for (int id = 1; id < size(); ++id)
    if (entry(id).kept && beside(id) && out[at(entry(id).parent)]) out[at(id)] = true;
  return out;
}

/// True if the pools have the rows of a kept state and of its parent's, too.
bool Timeline::besideParent(int id) const {
  const Kept* const kept = entry(id).kept.get();
  const int parent = entry(id).parent;
  return kept && parent >= 0 && entry(parent).kept && !kept->apart && kept->rows.layers.empty() && !kept->stored;
}

bool Timeline::liesInPools(int id) const {
  int from = m_current;
  return std::ranges::all_of(way(id), [&](int next) {
    const int edge = entry(from).parent == next ? from : next;
    from = next;
    return besideParent(edge);
  });
}

std::vector<int> Timeline::lying(int pools) const {
  const auto lies = [&](int id) { return besideParent(id) && entry(id).kept->pools == pools; };
  std::vector<int> out{m_current};
  while (lies(out.back()) && entry(entry(out.back()).parent).kept->pools == pools)
    out.push_back(entry(out.back()).parent);
  std::ranges::reverse(out);
  for (auto depth = at(this->depth()) + 1; depth < m_along.size() && lies(m_along[depth]); ++depth)
    out.push_back(m_along[depth]);
  return out;
}

LayerSlots Timeline::lyingSlots(int pools) const {
  LayerSlots out;
  const std::vector<int> ids = lying(pools);
  for (std::size_t i = 1; i < ids.size(); ++i) {
    const Kept& kept = *entry(ids[i]).kept;
    const LayerSlots& held = ids[i] <= m_current ? kept.freed : kept.added;
    out.resize(std::max(out.size(), held.size()));
    for (std::size_t layer = 0; layer < held.size(); ++layer)
      out[layer].insert(out[layer].end(), held[layer].begin(), held[layer].end());
  }
  return out;
}

void Timeline::keepLike(const Timeline& other, int pools, int own) {
  const std::vector<int> ids = other.lying(pools);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Entry& from = other.entry(ids[i]);
    std::unique_ptr<Kept>& kept = m_entries[at(from.depth)].kept;
    if (!kept) kept = std::make_unique<Kept>(Kept{.state = from.kept->state});
    kept->pools = own;
    kept->eventBytes = from.kept->eventBytes;
    if (i > 0) kept->added = from.kept->added, kept->freed = from.kept->freed, kept->bytes = from.kept->bytes;
    m_bytes += kept->bytes + kept->eventBytes;
  }
}

HeldSlots Timeline::held(int pools, std::size_t layers, std::size_t states) const {
  HeldSlots out{LayerSlots(layers)};
  const std::vector<bool> there = inPools(), along = onPath();
  for (int id = size() - 1; id >= 0; --id) {
    const Entry& one = entry(id);
    if (!one.kept || one.kept->apart || one.kept->pools != pools) continue;
    // Entries on the way to the current state hold the slots that they freed, other entries those that they added.
    const LayerSlots& some = along[at(id)] ? one.kept->freed : one.kept->added;
    for (std::size_t layer = 0; layer < some.size(); ++layer)
      out.slots[layer].insert(out.slots[layer].end(), some[layer].begin(), some[layer].end());
    if (id != m_current && there[at(id)] && out.states.size() < states) out.states.push_back(&one.kept->state);
  }
  return out;
}

/// Along a branch the first entries of edits ascend.
int Timeline::editEnd(int id) const {
  const auto later = [this](int edit, int other) { return edit < entry(other).edit; };
  return *std::prev(std::upper_bound(m_along.begin() + entry(id).depth, m_along.end(), entry(id).edit, later));
}

int Timeline::find(Tick tick, int branch) const {
  for (int id = m_branches[at(branch)].tip; id >= 0; id = entry(id).parent)
    if (entry(id).tick == tick) return id;
  return -1;
}

/// An entry has a higher number than its parent.
int Timeline::parting(int a, int b) const {
  while (a != b) (a > b ? a : b) = entry(std::max(a, b)).parent;
  return a;
}

int Timeline::newestTip(int id) const {
  while (!entry(id).children.empty()) id = entry(id).children.back();
  return id;
}

int Timeline::branchNamed(std::string_view name) const {
  const auto found = std::ranges::find(m_branches, name, &Branch::name);
  return found == m_branches.end() ? -1 : static_cast<int>(found - m_branches.begin());
}

void Timeline::follow(int branch) {
  const int last = m_branches[at(branch)].tip;
  m_along.resize(at(entry(last).depth) + 1);  // from here on nothing fails
  m_branch = branch;
  for (int id = last; id >= 0; id = entry(id).parent) m_along[at(entry(id).depth)] = id;
}

int Timeline::oldestKept() const {
  int oldest = m_current;
  for (int id = m_current; id >= 0 && entry(id).kept; id = entry(id).parent) oldest = id;
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

void Timeline::refine(CacheState state, int pools) {
  std::unique_ptr<Kept>& here = m_entries[at(m_current)].kept;
  if (!here) here = std::make_unique<Kept>();
  here->state = std::move(state);
  here->pools = pools;
}

Result<std::int64_t> Timeline::exchange(int id, const std::function<Result<std::int64_t>(KeptRows&)>& swaps) {
  Kept& kept = *m_entries[at(id)].kept;
  const std::int64_t before = kept.rows.bytes();
  Result<std::int64_t> moved = swaps(kept.rows);
  const std::int64_t more = kept.rows.bytes() - before;
  kept.bytes += more;
  m_bytes += more;
  return moved;
}

namespace {

/// Details vary with the time that things took. Here they do not, so that the same commands drop the same states again.
std::int64_t bytesOf(const std::vector<Event>& events) {
  constexpr std::int64_t kDetail = 32;
  return std::ssize(events) * (std::int64_t{sizeof(Event)} + kDetail);
}

/// The report itself where memory is short: other events cost some bytes, and no truth.
std::shared_ptr<const TickReport> withEvents(std::shared_ptr<const TickReport> report,
                                             const std::vector<Event>& events) noexcept {
  try {
    TickReport out = *report;
    out.events = events;
    return std::make_shared<const TickReport>(std::move(out));
  } catch (const std::bad_alloc&) {
    return report;
  }
}

}  // namespace

void Timeline::setReport(std::shared_ptr<const TickReport> report) {
  Entry& here = m_entries[at(m_current)];
  here.report = std::move(report);
  m_bytes -= here.kept->eventBytes;
  m_bytes += here.kept->eventBytes = bytesOf(here.report->events);
}

/// Events of a tick come back with its state, so they go with it. Returns the kept state, which is freed with it.
std::unique_ptr<Timeline::Kept> Timeline::dropState(Entry& entry) {
  if (!entry.kept) return nullptr;
  if (entry.report && !entry.report->events.empty()) entry.report = withEvents(entry.report, {});
  m_bytes -= entry.kept->eventBytes + entry.kept->bytes;
  return std::exchange(entry.kept, nullptr);
}

/// Drops the difference between a state and its parent's, which holds while both are kept.
void Timeline::forget(Kept& kept) {
  m_bytes -= kept.bytes;
  kept = {.state = std::move(kept.state), .pools = kept.pools, .eventBytes = kept.eventBytes};
}

void Timeline::dropAll(CacheStore& store, bool freeSlots) {
  const auto dropRest = [this] {
    for (int id = 0; id < size(); ++id)
      if (id != m_current) dropState(m_entries[at(id)]);
    forget(*m_entries[at(m_current)].kept);
  };
  try {
    while (freeSlots && dropOne(store)) {
    }
  } catch (...) {  // whoever takes the call back frees slots that nothing names
    dropRest();
    throw;
  }
  dropRest();
}

bool Timeline::adopt(int id, Timeline again) {
  for (Entry& entry : m_entries) dropState(entry);
  m_current = id;
  const bool same = depth() - again.m_entries[0].depth + 1 == again.size();
  const std::size_t known = same ? again.m_entries.size() : 1;
  for (std::size_t back = 1; back <= known; ++back, id = entry(id).parent)
    moveState(again, again.m_entries[again.m_entries.size() - back], m_entries[at(id)]);
  return same;
}

/// Moves a state of another timeline here, with all that holds between it and its parent's.
void Timeline::moveState(Timeline& other, Entry& from, Entry& to) {
  if (!from.kept) return;
  const std::int64_t bytes = from.kept->bytes + from.kept->eventBytes;
  other.m_bytes -= bytes;
  m_bytes += bytes;
  to.kept = std::move(from.kept);
  if (from.report) to.report = to.report ? withEvents(to.report, from.report->events) : from.report;
}

Timeline Timeline::takeKept(CacheStore& store) {
  Dropped dropped;
  dropAllBeside(store, dropped);
  const std::vector<int> kept = path(m_current, oldestKept());
  Timeline out;
  out.start(*entry(kept.front()).state(), 0, entry(kept.front()).depth, m_anchorBytes);
  for (std::size_t i = 1; i < kept.size(); ++i) out.push(Entry());
  for (std::size_t i = 0; i < kept.size(); ++i) {  // nothing fails between one state and the next
    out.m_entries[i].tick = entry(kept[i]).tick;
    out.moveState(*this, m_entries[at(kept[i])], out.m_entries[i]);
  }
  return out;
}

/// Drops a kept state without kept successors and frees the slots that it added: no other state names them.
std::unique_ptr<Timeline::Kept> Timeline::dropLeaf(int id, CacheStore& store) {
  std::unique_ptr<Kept> dropped = dropState(m_entries[at(id)]);
  store.release(dropped->added);
  return dropped;
}

void Timeline::forgetFrom(int id, CacheStore& store, const Place& back) {
  for (int last = size() - 1; last >= id; --last) {
    if (entry(last).kept) dropLeaf(last, store);
    std::erase(m_entries[at(entry(last).parent)].children, last);
    const auto stood = std::ranges::find(m_anchors, last, &Standing::entry);
    if (stood != m_anchors.end()) m_anchorBytes -= stood->bytes, m_anchors.erase(stood);
    m_entries.pop_back();
  }
  m_branches.resize(back.branches);
  m_branches[at(back.branch)].tip = back.tip;
  follow(back.branch);
}

/// Drops the oldest kept state, which has one kept successor, and frees the slots that the successor freed.
std::unique_ptr<Timeline::Kept> Timeline::dropOldest(int id, CacheStore& store) {
  std::unique_ptr<Kept> dropped = dropState(m_entries[at(id)]);
  for (int child : entry(id).children) {
    Kept* next = entry(child).kept.get();
    if (!next) continue;
    store.release(next->freed);
    forget(*next);
  }
  return dropped;
}

/// Drops a state of a side branch or of the redo future, a leaf that does not lead to the current state.
bool Timeline::dropBeside(CacheStore& store) {
  if (!canRedo() && m_branches.size() == 1) return false;
  const std::vector<bool> leads = onPath();
  for (int id = 0; id < size(); ++id) {
    if (!entry(id).kept || leads[at(id)]) continue;
    if (std::ranges::any_of(entry(id).children, [&](int child) { return entry(child).kept != nullptr; })) continue;
    dropLeaf(id, store);
    return true;
  }
  return false;
}

/// An entry has a lower number than its successors, so each one that is dropped is a leaf.
void Timeline::dropAllBeside(CacheStore& store, Dropped& dropped) {
  const std::vector<bool> leads = onPath();
  for (int id = size() - 1; id >= 0; --id)
    if (entry(id).kept && !leads[at(id)]) dropped.push_back(dropLeaf(id, store));
}

void Timeline::keepNewest(CacheStore& store, std::size_t most) {
  const auto kept = std::ranges::count_if(m_entries, [](const Entry& one) { return one.kept != nullptr; });
  if (at(kept) <= most) return;
  Dropped dropped;
  dropAllBeside(store, dropped);
  const std::vector<int> way = path(m_current, oldestKept());
  for (std::size_t i = 0; i + most < way.size(); ++i) dropped.push_back(dropOldest(way[i], store));
  m_freeing = std::async([dropped = std::move(dropped)]() mutable { dropped.clear(); });
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
    Kept* edge = entry(id).kept.get();
    const Kept* parent = entry(entry(id).parent).kept.get();
    if (!edge || edge->apart || !parent) continue;
    const bool back = leads[at(id)];
    const CacheState& far = back ? parent->state : edge->state;
    RowLog log;
    log.begin(far, std::numeric_limits<std::int64_t>::max());
    store.keep(back ? edge->freed : edge->added, log);
    edge->rows.append(*log.take());
    edge->added = edge->freed = {};
    edge->apart = true;
    m_bytes -= edge->bytes;
    m_bytes += edge->bytes = bytesBeside(far, back ? edge->state : parent->state) + edge->rows.bytes();
  }
}

bool Timeline::makeRoom(CacheStore& store, std::int32_t slots, Placing placing, std::int64_t bytes) {
  while (store.available(placing) < slots || m_bytes + m_anchorBytes > bytes)
    if (!dropOne(store)) return store.available(placing) >= slots;
  return true;
}

}  // namespace kvlab
