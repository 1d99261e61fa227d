// SPDX-License-Identifier: Apache-2.0
#include "core/check/changes.h"

#include <algorithm>

namespace kvlab {

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
