// SPDX-License-Identifier: Apache-2.0
#include "core/check/map_walk.h"

#include <algorithm>
#include <bit>

#include "core/state/map_runs.h"

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
                std::span<const std::size_t> fresh) {
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
  const std::size_t expected =
      (rows - first) / static_cast<std::size_t>(std::max<std::int64_t>(1, parts)) + 1 + fresh.size();
  list.slots.reserve(expected);
  list.tags.reserve(expected);
  list.indices.reserve(expected);
  const auto every = static_cast<std::int32_t>(parts);  // a division of 64 bits takes longer than the rest
  const bool mask = std::has_single_bit(static_cast<std::uint32_t>(every));
  const auto slice = [&](std::size_t from, std::size_t end) {
    if (part < 0) return;
    for (std::size_t i = from; i < end; ++i)
      if ((mask ? ledger[i].value() & (every - 1) : ledger[i].value() % every) == part) add(i);
  };
  std::size_t next = first;
  for (const std::size_t i : fresh) {
    if (i < first || i >= rows) continue;
    slice(next, i);
    add(i);
    next = i + 1;
  }
  slice(next, rows);
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

namespace {

template <class T>
bool beginAlike(const Column<T>& a, const Column<T>& b, std::size_t rows) {
  return a.prefix(rows).sharesWith(b.prefix(rows));
}

/// Rows with which both maps begin, in memory that they share; 0 if they share less than all of the shorter one.
std::size_t sharedInFront(const ResidencyView& was, const ResidencyView& is) {
  const std::size_t rows = std::min(
      {was.ledger.size(), was.slotOf.size(), was.phases.size(), is.ledger.size(), is.slotOf.size(), is.phases.size()});
  return was.first <= is.first && was.otherPhases == is.otherPhases && beginAlike(was.ledger, is.ledger, rows) &&
          beginAlike(was.slotOf, is.slotOf, rows) && beginAlike(was.phases, is.phases, rows)
      ? rows
      : 0;
}

}  // namespace

std::size_t knownInFront(const CheckInput& input, const SharedMap& shared) {
  const std::vector<const LayerGroup*> groups = passedGroups(input, shared);
  if (groups.size() != 1 || !groups.front()->map) return 0;
  const bool stored = shared.map == &shared.group->stored();
  const ResidencyView& was = stored ? groups.front()->stored() : *groups.front()->map;
  const std::size_t rows = sharedInFront(was, *shared.map);
  const CacheState &passed = *input.passed, &is = input.state;
  const bool appended = rows == was.size() && continues(is.context, passed.context) &&
      continues(is.phases, passed.phases) && passed.context.size() == passed.phases.size() &&
      passed.ledger.size() <= is.ledger.size();
  return appended ? rows : 0;
}

std::vector<std::size_t> freshRows(const CheckInput& input, const SharedMap& shared) {
  const std::size_t rows = shared.rows();
  const std::span<const LedgerId> ledger = shared.map->ledger.span().first(rows);
  const std::span<const Slot> slots = shared.map->slotOf.span().first(rows);
  const std::vector<const LayerGroup*> groups = passedGroups(input, shared);
  std::vector<std::size_t> out;
  std::size_t next = 0;  // rows before it are in `out`, or known
  const auto freshUntil = [&](std::size_t end) {
    for (; next < end; ++next) out.push_back(next);
  };
  const bool known = groups.size() == 1 && groups.front()->stored().first <= shared.map->first;
  if (known) {
    const ResidencyView& was = groups.front()->stored();
    const std::size_t wasRows = std::min(was.ledger.size(), was.slotOf.size());
    const std::size_t written = groups.front()->writers.alike(shared.group->writers);
    const bool all = written == groups.front()->writers.size();  // that were there before have their writers still
    const std::size_t front = next = all ? sharedInFront(was, *shared.map) : 0;
    const std::span<const LedgerId> rest = was.ledger.span().subspan(front, wasRows - front);
    forCommonRuns(rest, ledger.subspan(front), [&](std::size_t old, std::size_t now, std::size_t count) {
      old += front, now += front;
      for (const std::size_t end = now + count; now < end;) {
        const std::size_t same = alikeInFront(was.slotOf.span().subspan(old, end - now), slots.subspan(now, end - now));
        freshUntil(now);
        for (std::size_t i = now; i < now + same; ++i)
          if (!all && at(ledger[i]) >= written) out.push_back(i);
        next = now + same;
        old += same + 1, now += same + 1;  // the row behind them has another slot
      }
    });
  }
  freshUntil(rows);
  return out;
}

}  // namespace kvlab
