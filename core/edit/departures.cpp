// SPDX-License-Identifier: Apache-2.0
#include "core/edit/departures.h"

#include <algorithm>

#include "core/api/cache_layers.h"

namespace kvlab {
namespace {

/// Rows that a map counts without a slot and that the map before did not count so.
std::vector<LedgerId> leftBehindIn(const ResidencyView& before, const ResidencyView& after, bool sameFront,
                                   LedgerId firstNew) {
  std::vector<LedgerId> out;
  std::size_t gone = sameFront ? at(before.first) : 0;  // matched in `before`, in order
  for (std::size_t i = gone; i < at(after.first); ++i) {
    std::size_t same = after.ledger[i] < firstNew ? gone : at(before.first);
    while (same < at(before.first) && before.ledger[same] != after.ledger[i]) ++same;
    if (same < at(before.first)) gone = same + 1;
    else out.push_back(after.ledger[i]);
  }
  return out;
}

/// [ids] the state of each row according to the maps; ids ascend and are not empty.
std::vector<RowState> statesOf(const CacheState& state, const std::vector<LedgerId>& ids) {
  std::vector<RowState> out(ids.size(), RowState::Evicted);
  std::size_t absent = ids.size();
  std::vector<std::int32_t> placeOf(at(ids.back().value() - ids.front().value()) + 1, -1);  // by id: its index
  for (std::size_t i = 0; i < ids.size(); ++i)
    placeOf[at(ids[i].value() - ids.front().value())] = static_cast<std::int32_t>(i);
  const auto say = [&](LedgerId id, RowState what) {
    if (id < ids.front() || ids.back() < id) return;
    const std::int32_t place = placeOf[at(id.value() - ids.front().value())];
    if (place < 0 || out[at(place)] != RowState::Evicted) return;
    out[at(place)] = what;
    --absent;
  };
  // Backwards from the newest row, because the wanted rows mostly lie at the end.
  for (const LayerGroup& group : state.groups)
    for (std::size_t i = group.map->size(); i-- > at(group.map->first) && absent > 0;)
      say(group.map->ledger[i], RowState::Live);
  for (const LayerGroup& group : state.groups)
    for (std::size_t i = at(group.map->first); i-- > 0 && absent > 0;) say(group.map->ledger[i], RowState::LeftWindow);
  return out;
}

void become(CacheState& state, LedgerId id, RowState wanted, Tick now) {
  if (state.ledger[id].state == wanted) return;
  LedgerRow& row = state.ledger.change(id);
  row.state = wanted;
  row.changed = wanted == RowState::Live ? row.born : now;
}

}  // namespace

void markRows(CacheState& state, std::span<const LedgerId> ids, Tick now) {
  std::vector<LedgerId> sorted(ids.begin(), ids.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.empty()) return;
  const std::vector<RowState> states = statesOf(state, sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) become(state, sorted[i], states[i], now);
}

std::vector<Evict> leaveWindows(const CacheState& before, CacheState& after, bool sameFront, Tick now) {
  const auto windowed = [](const LayerGroup& group) { return group.map->first > 0; };
  if (std::none_of(after.groups.begin(), after.groups.end(), windowed)) return {};
  const CacheLayers layers = after.cacheLayers();
  std::vector<std::vector<LedgerId>> left(after.groups.size());
  std::vector<Evict> out;
  std::vector<LedgerId> all;
  std::vector<bool> known(after.groups.size());
  for (const CacheLayer layer : after.layers()) {
    const auto group = at(after.groupOf[at(layer)]);
    const bool first = !known[group];
    known[group] = true;
    if (first) left[group] = leftBehindIn(before.map(layer), after.map(layer), sameFront, before.ledger.nextId());
    if (left[group].empty()) continue;
    if (first) all.insert(all.end(), left[group].begin(), left[group].end());
    out.push_back({layers.layerOf(layer), layers.headOf(layer), left[group]});
  }
  const bool everywhere = std::all_of(left.begin(), left.end(), [&](const auto& rows) { return rows == left.front(); });
  if (!everywhere) markRows(after, all, now);
  else  // as a rule: nobody has to look for them
    for (const LedgerId id : left.front()) become(after, id, RowState::LeftWindow, now);
  return out;
}

void tell(std::span<const Evict> left, Trace& trace) {
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::vector<LedgerId>& rows = left[i].ledger;
    const auto together = [&](const Evict& one) { return one.ledger == rows; };
    if (std::any_of(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(i), together)) continue;
    std::string layers;
    for (const Evict& one : left.subspan(i))
      if (together(one))
        layers += (layers.empty() ? "" : ", ") + std::to_string(one.layer.value()) +
            (one.kvHead ? "." + std::to_string(one.kvHead->value()) : "");
    std::string text = "ledger " + std::to_string(rows.front().value());
    if (rows.size() > 1)
      text += " to " + std::to_string(rows.back().value()) + ", " + std::to_string(rows.size()) + " rows";
    auto scope = trace.scope("left_window", text + ", from layers " + layers);
  }
}

}  // namespace kvlab
