// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layout_set.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kvlab {
namespace {

/// Sorts slots that rows have left: slots that the previous state names go to `freed`, others are given back.
void account(const std::vector<Slot>& left, SlotAllocator& slots, std::vector<Slot>& added, std::vector<Slot>& freed) {
  std::vector<Slot> dropped;
  for (const Slot slot : left) (std::erase(added, slot) ? dropped : freed).push_back(slot);
  slots.give(dropped);
}

/// Slots that parts of a tick have taken and left again: no state names them, and added and freed lose them.
std::vector<Slot> takePassing(std::vector<Slot>& added, std::vector<Slot>& freed) {
  std::vector<Slot> came(added), gone(freed), out;
  std::ranges::sort(came);
  std::ranges::sort(gone);
  std::ranges::set_intersection(came, gone, std::back_inserter(out));
  removeSlots(added, out);
  removeSlots(freed, out);
  return out;
}

/// Rows of a ring that its state names give way to `taken` new ones, and to one that is only looked at.
bool overrun(const LayerGroup& group, std::size_t taken, bool looks) {
  return group.ring && static_cast<std::int64_t>(taken) + looks > group.ring->capacity - group.ring->filled;
}

/// Removes rows outside the window from the group's map and returns their slots.
std::vector<Slot> leftBehind(LayerGroup& group) {
  const ResidencyView& map = *group.map;
  const std::int32_t first = static_cast<std::int32_t>(map.size()) - group.keep;
  if (group.keep == 0 || first <= map.first) return {};
  const std::span<const Slot> left = map.residentSlots().first(at(first - map.first));
  std::vector<Slot> lost(left.begin(), left.end());
  auto kept = std::make_shared<ResidencyView>(map);
  kept->first = first;
  group.map = std::move(kept);
  return lost;
}

/// A layout arranges every stored row. As long as this object lives, the map of the group has them all; finish() gives
/// it the rows that it had, in the slots where they lie now.
class StoredMap {
 public:
  explicit StoredMap(LayerGroup& group) : m_group(group), m_map(group.map) {
    if (group.all) group.map = group.all;
  }
  ~StoredMap() {
    if (m_group.all) m_group.map = m_map;
  }
  void finish() {
    if (!m_group.all || m_group.map == m_group.all) return;  // nothing has moved
    const std::shared_ptr<const ResidencyView> settled = m_group.map;
    auto map = std::make_shared<ResidencyView>(*m_map);
    map->slotOf = Column<Slot>::make(map->size(), [&](Slot* out) {
      std::size_t row = 0;
      for (std::size_t i = 0; i < map->size(); ++i) {
        while (settled->ledger[row] != map->ledger[i]) ++row;
        *out++ = settled->slotOf[row];
      }
    });
    m_map = std::move(map);
    m_group.all = settled;
  }
  StoredMap(const StoredMap&) = delete;
  StoredMap& operator=(const StoredMap&) = delete;

 private:
  LayerGroup& m_group;
  std::shared_ptr<const ResidencyView> m_map;
};

/// Makes moves in place, whose memory is already taken. Returns bytes read and written. A failure here or later in the
/// call moves rows back; where a device fails, rows are lost.
Result<std::int64_t> moveInPlace(std::vector<ReadyMoves> moves, LayoutContext& context) {
  std::vector<ReadyMoves> back;
  for (const ReadyMoves& layer : moves) back.push_back(KV_TRY(layer.back()));
  const auto done = std::make_shared<std::vector<ReadyMoves>>();  // back, of those that were made
  done->reserve(back.size());
  if (!moves.empty())
    context.store.log().moves([done] {
      for (ReadyMoves& layer : *done) static_cast<void>(layer.run());
    });
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    KV_TRY(context.faults.pass(FaultPoint::Copy, "moving rows"));
    const Result<std::int64_t> moved = moves[i].run();
    if (!moved) context.store.log().spoil();
    bytes += KV_TRY(moved);
    done->push_back(std::move(back[i]));
  }
  return bytes;
}

}  // namespace

Result<LayoutSet> LayoutSet::make(const std::vector<std::string>& specs, std::vector<LayerDemand> demands) {
  LayoutSet set;
  std::vector<std::string> known;
  for (const std::string& spec : specs) {
    const auto found = std::find(known.begin(), known.end(), spec);
    set.m_of.push_back(static_cast<int>(found - known.begin()));
    if (found != known.end()) continue;
    set.m_layouts.push_back(KV_TRY(makeLayout(spec)));
    known.push_back(spec);
  }
  set.m_demands = std::move(demands);
  return set;
}

LayoutSet LayoutSet::of(const LayoutName& info, int layers, const LayerDemand& demand) {
  return LayoutSet::make(std::vector<std::string>(at(layers), std::string(info.name)),
                         std::vector<LayerDemand>(at(layers), demand))
      .take();
}

std::int32_t LayoutSet::slotsWithoutHistory(CacheLayer layer, std::int32_t rows) const {
  LayerDemand demand = this->demand(layer);
  demand.history = 0;
  demand.rows = rows;
  return this->layout(layer).poolSlots(demand);
}

Result<bool> LayoutSet::resize(CacheStore& store, const std::vector<std::int32_t>& rows) {
  std::vector<LayerDemand> wanted = m_demands;
  const auto all = idRange<CacheLayer>(0, rows.size());
  for (const CacheLayer layer : all) {
    wanted[at(layer)].rows = rows[at(layer)];
    const std::optional<std::int32_t> end = store.slots(layer).end();
    if (!end || *end > layout(layer).poolSlots(wanted[at(layer)])) return false;
  }
  for (const CacheLayer layer : all) {
    if (wanted[at(layer)].pooled() == m_demands[at(layer)].pooled()) continue;
    KV_TRY(store.resize(layer, layout(layer).poolSlots(wanted[at(layer)])));
    m_demands[at(layer)] = wanted[at(layer)];
  }
  return true;
}

bool LayoutSet::alike(CacheLayer a, CacheLayer b) const {
  return m_of[at(a)] == m_of[at(b)] && demand(a).keep == demand(b).keep && demand(a).capacity == demand(b).capacity &&
      demand(a).pooled() == demand(b).pooled();
}

std::string LayoutSet::names() const {
  std::string out;
  for (const auto& layout : m_layouts) out += (out.empty() ? "" : ", ") + std::string(layout->name());
  return out;
}

bool LayoutSet::inPlace() const {
  return std::any_of(m_layouts.begin(), m_layouts.end(), [](const auto& layout) { return layout->inPlace(); });
}

std::vector<LayerPool> LayoutSet::pools(const std::vector<kernels::RowFormat>& formats) const {
  std::vector<LayerPool> out;
  for (const CacheLayer layer : layers()) {
    LayerDemand whole = demand(layer);
    whole.rows = 0;
    out.push_back({formats[at(layer)], layout(layer).poolSlots(demand(layer)), layout(layer).makeSlots(demand(layer)),
                   layout(layer).poolSlots(whole)});
  }
  return out;
}

Result<LayerSlots> LayoutSet::reserve(CacheStore& store, const CacheState& before, std::int32_t inserted,
                                      std::int32_t tail, bool lastLeaves, FaultDoor& faults, std::int32_t more) const {
  std::vector<Slot> after;
  std::vector<std::int32_t> ahead;
  after.reserve(before.groupOf.size());
  for (const CacheLayer layer : before.layers()) {
    const ResidencyView& map = before.group(layer).stored();
    if (more) ahead.push_back(before.group(layer).keep ? 0 : more);
    after.push_back(map.resident() > 0 && !lastLeaves ? map.slotOf[map.size() - 1] : Slot(-1));
  }
  return store.reserve(inserted, faults, tail, after, ahead);
}

bool LayoutSet::overruns(const CacheState& before, const LayerSlots& taken, const LayerSlots* earlier, bool looks) {
  for (const CacheLayer layer : before.layers())
    if (overrun(before.group(layer), taken[at(layer)].size() + (earlier ? (*earlier)[at(layer)].size() : 0), looks))
      return true;
  return false;
}

void LayoutSet::drop(CacheState& state, LayerSlots& added, LayerSlots& freed, CacheStore& store, bool looks) const {
  if (std::none_of(state.groups.begin(), state.groups.end(), [](const LayerGroup& group) { return group.keep > 0; }))
    return;
  const std::vector<std::vector<CacheLayer>> layers = layersOf(state);
  LayerSlots lost(state.groupOf.size());
  for (std::size_t g = 0; g < state.groups.size(); ++g) {
    const std::vector<Slot> left = leftBehind(state.groups[g]);
    for (const CacheLayer layer : layers[g]) lost[at(layer)] = left;
  }
  if (inPlace()) store.keep(lost);
  for (const CacheLayer layer : state.layers()) {
    if (!overrun(state.group(layer), added[at(layer)].size(), looks)) {
      if (!layout(layer).inPlace()) account(lost[at(layer)], store.slots(layer), added[at(layer)], freed[at(layer)]);
      continue;
    }
    // A prompt that has overwritten rows of the previous state may also use the slots of its other rows.
    store.log().overwrites();
    layout(layer).dropped(store.slots(layer), static_cast<std::int32_t>(lost[at(layer)].size()));
  }
}

Result<std::int64_t> LayoutSet::settle(CacheState& state, bool appended, std::int32_t rows, LayerSlots& added,
                                       LayerSlots& freed, LayoutContext& context, bool toFront) const {
  drop(state, added, freed, context.store, false);
  if (inPlace()) context.store.keep(freed);
  for (const CacheLayer layer : state.layers())
    if (toFront && !layout(layer).inPlace())
      context.store.slots(layer).give(takePassing(added[at(layer)], freed[at(layer)]));
  std::int64_t bytes = 0;
  std::vector<ReadyMoves> moves;
  const std::vector<std::vector<CacheLayer>> layers = layersOf(state);
  const auto settleGroup = [&](std::size_t g) -> Status {
    const CacheLayer leader = layers[g].front();
    StoredMap stored(state.groups[g]);
    Settling settling{
        .group = state.groups[g], .layers = layers[g], .appended = appended, .fresh = rows, .tick = state.tick};
    if (toFront) settling.loose = added[at(leader)];
    bytes += KV_TRY(layout(leader).settle(settling, context));
    stored.finish();
    std::ranges::move(settling.moves, std::back_inserter(moves));
    for (const CacheLayer layer : layers[g]) {
      if (layout(layer).inPlace()) continue;
      account(settling.left, context.store.slots(layer), added[at(layer)], freed[at(layer)]);
      added[at(layer)].insert(added[at(layer)].end(), settling.taken.begin(), settling.taken.end());
    }
    return ok();
  };
  for (const bool moving : {false, true})  // slots may run out only before rows are moved in place
    for (std::size_t g = 0; g < state.groups.size(); ++g)
      if (layout(layers[g].front()).inPlace() == moving) KV_TRY(settleGroup(g));
  bytes += KV_TRY(moveInPlace(std::move(moves), context));
  if (!inPlace()) return bytes;
  // History keeps rows of older states apart, so slots that only older states named are free.
  for (const CacheLayer layer : state.layers()) {
    if (!layout(layer).inPlace()) context.store.slots(layer).give(freed[at(layer)]);
    freed[at(layer)].clear();
  }
  return bytes;
}

Result<Compaction> LayoutSet::compact(CacheState& state, std::int64_t most, LayoutContext& context) const {
  const std::vector<std::vector<CacheLayer>> layers = layersOf(state);
  Compaction all;
  for (std::size_t g = 0; g < state.groups.size(); ++g) {
    StoredMap stored(state.groups[g]);
    const Compaction done = KV_TRY(layout(layers[g].front()).compact(state.groups[g], layers[g], context, most));
    stored.finish();
    all.rows += done.rows;
    all.bytes += done.bytes;
    all.done = all.done && done.done;
  }
  return all;
}

void LayoutSet::release(CacheStore& store, const LayerSlots& unused, LayerSlots& added) const {
  for (const CacheLayer layer : idRange<CacheLayer>(0, unused.size())) {
    if (!layout(layer).inPlace()) store.slots(layer).give(unused[at(layer)]);
    removeSlots(added[at(layer)], unused[at(layer)]);
  }
}

void LayoutSet::backTo(CacheStore& store, const CacheState& state) const {
  for (const CacheLayer layer : store.layers())
    if (layout(layer).inPlace()) layout(layer).restart(state.group(layer), store.slots(layer));
}

LayerSlots LayoutSet::heldBy(const CacheState& state) const {
  LayerSlots out = slotsOf(state);
  const CacheState* const before = state.kind->draftedFrom();
  if (inPlace() || !before) return out;
  const LayerSlots beside = slotsBeside(*before, state);
  for (std::size_t layer = 0; layer < out.size(); ++layer)
    out[layer].insert(out[layer].end(), beside[layer].begin(), beside[layer].end());
  return out;
}

void LayoutSet::restart(CacheStore& store, const CacheState& state) const { restart(store, state, heldBy(state)); }

void LayoutSet::restart(CacheStore& store, const CacheState& state, const LayerSlots& held) const {
  std::vector<SlotRange> runs;
  for (const CacheLayer layer : store.layers()) {
    if (at(layer) == 0 || held[at(layer)] != held[at(layer) - 1]) runs = runsOf(held[at(layer)]);
    store.slots(layer).restart(runs);
    if (layout(layer).inPlace()) layout(layer).restart(state.group(layer), store.slots(layer));
  }
}

void LayoutSet::start(CacheState& state, const std::vector<std::int32_t>& windows) const {
  const auto empty = std::make_shared<const ResidencyView>();
  std::vector<CacheLayer> firsts;
  for (const CacheLayer layer : layers()) {
    std::size_t g = 0;
    while (g < firsts.size() && !(windows[at(firsts[g])] == windows[at(layer)] && alike(firsts[g], layer))) ++g;
    state.groupOf.push_back(static_cast<std::int32_t>(g));
    if (g < firsts.size()) continue;
    firsts.push_back(layer);
    LayerGroup group;
    group.window = windows[at(layer)];
    group.keep = demand(layer).keep;
    group.capacity = demand(layer).capacity;
    group.map = empty;
    layout(layer).start(group, demand(layer));
    state.groups.push_back(std::move(group));
  }
}

LayerSlots slotsOf(const CacheState& state) {
  LayerSlots out;
  for (const CacheLayer layer : state.layers()) {
    const std::span<const Slot> slots = state.group(layer).stored().residentSlots();
    out.emplace_back(slots.begin(), slots.end());
  }
  return out;
}

LayerSlots slotsBeside(const CacheState& state, const CacheState& other) {
  LayerSlots out;
  for (const CacheLayer layer : state.layers()) {
    const auto slotsOf = [layer](const CacheState& one) {
      const std::span<const Slot> slots = one.group(layer).stored().residentSlots();
      std::vector<Slot> sorted(slots.begin(), slots.end());
      std::sort(sorted.begin(), sorted.end());
      return sorted;
    };
    const std::vector<Slot> own = slotsOf(state), others = slotsOf(other);
    std::set_difference(own.begin(), own.end(), others.begin(), others.end(), std::back_inserter(out.emplace_back()));
  }
  return out;
}

std::vector<std::vector<CacheLayer>> layersOf(const CacheState& state) {
  std::vector<std::vector<CacheLayer>> out(state.groups.size());
  for (const CacheLayer layer : state.layers()) out[at(state.groupOf[at(layer)])].push_back(layer);
  return out;
}

}  // namespace kvlab
