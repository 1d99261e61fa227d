// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layout_set.h"

#include <algorithm>

namespace kvlab {
namespace {

/// Sorts slots that rows have left: slots that the previous state names go to `freed`, others are given back.
void account(const std::vector<Slot>& left, SlotAllocator& slots, std::vector<Slot>& added, std::vector<Slot>& freed) {
  std::vector<Slot> dropped;
  for (const Slot slot : left) (std::erase(added, slot) ? dropped : freed).push_back(slot);
  slots.give(dropped);
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
}  // namespace

Result<LayoutSet> LayoutSet::make(const std::vector<std::string>& specs, std::vector<LayerDemand> demands) {
  LayoutSet set;
  std::vector<std::string> known;
  for (const std::string& spec : specs) {
    const auto found = std::find(known.begin(), known.end(), spec);
    set.m_of.push_back(static_cast<int>(found - known.begin()));
    if (found != known.end()) continue;
    Result<std::unique_ptr<StorageLayout>> layout = makeLayout(spec);
    if (!layout) return layout.error();
    set.m_layouts.push_back(layout.take());
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

std::int32_t LayoutSet::slotsWithoutHistory(int layer) const {
  LayerDemand demand = this->demand(layer);
  demand.history = 0;
  return this->layout(layer).poolSlots(demand);
}

bool LayoutSet::alike(int a, int b) const {
  return m_of[at(a)] == m_of[at(b)] && demand(a).keep == demand(b).keep && demand(a).capacity == demand(b).capacity;
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
  for (int layer = 0; layer < static_cast<int>(m_of.size()); ++layer)
    out.push_back({formats[at(layer)], layout(layer).poolSlots(demand(layer)), layout(layer).makeSlots(demand(layer))});
  return out;
}

Result<LayerSlots> LayoutSet::reserve(CacheStore& store, const CacheState& before, std::int32_t inserted,
                                      std::int32_t tail, bool lastLeaves, FaultDoor& faults, std::int32_t more) const {
  std::vector<Slot> after;
  std::vector<std::int32_t> ahead;
  after.reserve(at(before.layers()));
  for (int layer = 0; layer < before.layers(); ++layer) {
    const ResidencyView& map = before.map(layer);
    if (more) ahead.push_back(before.group(layer).keep ? 0 : more);
    after.push_back(map.resident() > 0 && !lastLeaves ? map.slotOf[map.size() - 1] : Slot(-1));
  }
  return store.reserve(inserted, faults, tail, after, ahead);
}

bool LayoutSet::overruns(const CacheState& before, const LayerSlots& taken, const LayerSlots* earlier) {
  for (int layer = 0; layer < before.layers(); ++layer) {
    const std::optional<RingState>& ring = before.group(layer).ring;
    const std::size_t slots = taken[at(layer)].size() + (earlier ? (*earlier)[at(layer)].size() : 0);
    if (ring && static_cast<std::int64_t>(slots) > ring->capacity - ring->filled) return true;
  }
  return false;
}

void LayoutSet::drop(CacheState& state, LayerSlots& added, LayerSlots& freed, CacheStore& store) const {
  if (std::none_of(state.groups.begin(), state.groups.end(), [](const LayerGroup& group) { return group.keep > 0; }))
    return;
  const std::vector<std::vector<int>> layers = layersOf(state);
  for (std::size_t g = 0; g < state.groups.size(); ++g) {
    const std::vector<Slot> lost = leftBehind(state.groups[g]);
    const std::optional<RingState>& ring = state.groups[g].ring;
    for (const int layer : layers[g]) {
      // A prompt that has overwritten rows of the previous state may also use the slots of its other rows.
      const bool overrun = ring && static_cast<std::int64_t>(added[at(layer)].size()) > ring->capacity - ring->filled;
      if (overrun) layout(layer).dropped(store.slots(layer), static_cast<std::int32_t>(lost.size()));
      else if (!layout(layer).inPlace()) account(lost, store.slots(layer), added[at(layer)], freed[at(layer)]);
    }
  }
}

Result<std::int64_t> LayoutSet::settle(CacheState& state, bool appended, std::int32_t rows, LayerSlots& added,
                                       LayerSlots& freed, LayoutContext& context) const {
  drop(state, added, freed, context.store);
  std::int64_t bytes = 0;
  const std::vector<std::vector<int>> layers = layersOf(state);
  const auto settleGroup = [&](std::size_t g) -> Status {
    const int leader = layers[g].front();
    Settling settling{
        .group = state.groups[g], .layers = layers[g], .appended = appended, .fresh = rows, .tick = state.tick};
    Result<std::int64_t> moved = layout(leader).settle(settling, context);
    if (!moved) return moved.error();
    bytes += *moved;
    for (const int layer : layers[g]) {
      if (layout(layer).inPlace()) continue;
      account(settling.left, context.store.slots(layer), added[at(layer)], freed[at(layer)]);
      added[at(layer)].insert(added[at(layer)].end(), settling.taken.begin(), settling.taken.end());
    }
    return ok();
  };
  for (const bool moving : {false, true})  // slots may run out only before rows are moved in place
    for (std::size_t g = 0; g < state.groups.size(); ++g)
      if (layout(layers[g].front()).inPlace() == moving)
        if (Status settled = settleGroup(g); !settled) return settled.error();
  if (!inPlace()) return bytes;
  // History keeps no older state, so slots that only older states named are free.
  for (int layer = 0; layer < state.layers(); ++layer) {
    if (!layout(layer).inPlace()) context.store.slots(layer).give(freed[at(layer)]);
    freed[at(layer)].clear();
  }
  return bytes;
}

void LayoutSet::release(CacheStore& store, const LayerSlots& slots) const {
  for (std::size_t layer = 0; layer < slots.size(); ++layer)
    if (!layout(static_cast<int>(layer)).inPlace()) store.slots(static_cast<int>(layer)).give(slots[layer]);
}

void LayoutSet::backTo(CacheStore& store, const CacheState& state) const {
  for (int layer = 0; layer < store.layers(); ++layer)
    if (layout(layer).inPlace()) layout(layer).restart(state.group(layer), store.slots(layer));
}

void LayoutSet::restart(CacheStore& store, const CacheState& state) const {
  for (int layer = 0; layer < store.layers(); ++layer) layout(layer).restart(state.group(layer), store.slots(layer));
}

void LayoutSet::start(CacheState& state, const std::vector<std::int32_t>& windows) const {
  const auto empty = std::make_shared<const ResidencyView>();
  std::vector<int> firsts;
  for (int layer = 0; layer < static_cast<int>(m_of.size()); ++layer) {
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

std::vector<std::vector<int>> layersOf(const CacheState& state) {
  std::vector<std::vector<int>> out(state.groups.size());
  for (int layer = 0; layer < state.layers(); ++layer) out[at(state.groupOf[at(layer)])].push_back(layer);
  return out;
}

}  // namespace kvlab
