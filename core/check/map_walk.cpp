// SPDX-License-Identifier: Apache-2.0
#include "core/check/map_walk.h"

#include <algorithm>
#include <bit>

namespace kvlab {

std::size_t SharedMap::rows() const { return std::min({map->ledger.size(), map->slotOf.size(), map->phases.size()}); }

std::string SharedMap::name() const {
  if (layers.size() == 1) return name(first());
  const bool run = at(layers.back()) - at(first()) + 1 == layers.size();
  return "layers " + all.name(first()) + (run ? "-" : " .. ") + all.name(layers.back());
}

std::vector<SharedMap> sharedMaps(const CheckInput& input) {
  const CacheState& state = input.state;
  std::vector<SharedMap> all;
  for (const LayerGroup& group : state.groups) all.push_back({&group, group.map.get(), state.cacheLayers()});
  for (const CacheLayer layer : state.layers() | std::views::take(input.store.layers().size())) {
    const std::int32_t g = state.groupOf[at(layer)];
    if (g >= 0 && static_cast<std::size_t>(g) < all.size()) all[static_cast<std::size_t>(g)].layers.push_back(layer);
  }
  std::erase_if(all, [](const SharedMap& shared) { return !shared.map || shared.layers.empty(); });
  return all;
}

std::vector<SharedMap> storedMaps(const CheckInput& input) {
  std::vector<SharedMap> maps = sharedMaps(input);
  for (SharedMap& shared : maps) shared.map = &shared.group->stored();
  return maps;
}

std::vector<std::int32_t> placesOf(const Column<LedgerId>& context, std::size_t rows) {
  std::vector<std::int32_t> out(rows, -1);
  for (std::size_t p = 0; p < context.size(); ++p)
    if (at(context[p]) < rows) out[at(context[p])] = static_cast<std::int32_t>(p);
  return out;
}

std::string rowName(LedgerId id) { return "ledger row " + std::to_string(id.value()); }

RowList rowList(const SharedMap& shared, std::int32_t poolSlots, std::int64_t part, std::int64_t parts,
                std::size_t fresh) {
  RowList list;
  const std::size_t rows = shared.rows(), first = std::min(rows, static_cast<std::size_t>(shared.map->first));
  const std::span<const LedgerId> ledger = shared.map->ledger.span();
  const std::span<const Slot> slotOf = shared.map->slotOf.span();
  const auto add = [&](std::size_t i) {
    const std::int32_t slot = slotOf[i].value();
    if (slot < 0 || slot >= poolSlots) return;
    list.slots.push_back(slot);
    list.tags.push_back(static_cast<std::uint64_t>(ledger[i].value()));
    list.indices.push_back(i);
  };
  const std::size_t expected = (rows - first) / static_cast<std::size_t>(std::max<std::int64_t>(1, parts)) + 1;
  list.slots.reserve(expected);
  list.tags.reserve(expected);
  list.indices.reserve(expected);
  const auto every = static_cast<std::int32_t>(parts);  // a division of 64 bits takes longer than the rest
  const bool mask = std::has_single_bit(static_cast<std::uint32_t>(every));
  const std::size_t known = std::clamp(fresh, first, rows);
  for (std::size_t i = first; i < known; ++i)
    if ((mask ? ledger[i].value() & (every - 1) : ledger[i].value() % every) == part) add(i);
  for (std::size_t i = known; i < rows; ++i) add(i);
  return list;
}

bool generated(const CheckInput& input) {
  const CacheState& state = input.state;
  for (std::size_t p = state.context.size(); p-- > 0;) {
    const LedgerId id = state.context[p];
    if (id < input.before->ledger.nextId()) return false;
    if (state.ledger.contains(id) && state.ledger[id].source == Source::Model) return true;
  }
  return false;
}

bool edited(const CheckInput& input) {
  if (!input.before || input.before->tick.value() + 1 != input.state.tick.value() ||
      input.before->groupOf.size() != input.state.groupOf.size() ||
      input.before->ledger.size() > input.state.ledger.size())
    return false;
  const CacheState &was = *input.before, &is = input.state;
  if (!input.deeds.empty()) return true;
  return std::ranges::any_of(was.context.span().subspan(is.context.alike(was.context)), [&](LedgerId id) {
    const LedgerRow& row = is.ledger[id];
    return row.changed == is.tick && (row.state == RowState::Replaced || row.state == RowState::Deleted) &&
        row.token == was.ledger[id].token && row.born == was.ledger[id].born;
  });
}

std::vector<const LayerGroup*> passedGroups(const CheckInput& input, const SharedMap& shared) {
  std::vector<const LayerGroup*> groups;
  if (!input.passed || input.passed->groupOf.size() != input.state.groupOf.size()) return groups;
  for (const CacheLayer layer : shared.layers) {
    const LayerGroup* group = &input.passed->group(layer);
    if (groups.empty() || groups.back() != group) groups.push_back(group);
  }
  return groups;
}

std::size_t firstFresh(const CheckInput& input, const SharedMap& shared) {
  const std::vector<const LayerGroup*> groups = passedGroups(input, shared);
  std::size_t known = groups.empty() ? 0 : shared.rows();
  for (const LayerGroup* was : groups) {
    const ResidencyView& map = was->stored();
    if (map.first > shared.map->first) return 0;
    known = std::min({known, map.ledger.alike(shared.map->ledger), map.slotOf.alike(shared.map->slotOf)});
    const std::size_t written = was->writers.alike(shared.group->writers);
    if (written == was->writers.size()) continue;
    const std::span<const LedgerId> ledger = shared.map->ledger.span().first(known);
    known = static_cast<std::size_t>(
        std::ranges::find_if(ledger, [written](LedgerId id) { return at(id) >= written; }) - ledger.begin());
  }
  return known;
}

}  // namespace kvlab
