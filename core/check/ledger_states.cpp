// SPDX-License-Identifier: Apache-2.0
// Rows outside the context are neither live nor evicted nor behind a window, and lineage reads the same from both ends:
// a child's parents name the child. Full checks look at the whole ledger, cheap checks at the rows of
// the context that have changed since the last check.
#include <algorithm>

#include "core/check/checks.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

bool names(const std::vector<LedgerId>& list, LedgerId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

void checkLinks(const Ledger& ledger, LedgerId id, const std::vector<LedgerId>& others, bool parents,
                Findings& findings) {
  const char* const kind = parents ? "parent" : "child";
  for (LedgerId other : others) {
    const Place place{{}, {}, id};
    if (!ledger.contains(other))
      findings.add(place, rowName(id) + " has " + rowName(other) + " as " + kind + ", which does not exist");
    else if (!names(parents ? ledger[other].children : ledger[other].parents, id))
      findings.add(place, rowName(id) + " has " + rowName(other) + " as " + kind + ", which does not name it in turn");
  }
}

}  // namespace

void checkLedgerStates(const CheckInput& input, Findings& findings) {
  const CacheState& state = input.state;
  const auto checkRow = [&](LedgerId id) {
    const LedgerRow& row = state.ledger[id];
    if (!row.parents.empty()) checkLinks(state.ledger, id, row.parents, true, findings);
    if (!row.children.empty()) checkLinks(state.ledger, id, row.children, false, findings);
  };
  if (!input.full) {
    const auto known = input.passed ? static_cast<std::int32_t>(state.ledger.alike(input.passed->ledger)) : 0;
    for (const LedgerId id : state.context.span())
      if (id.value() >= known && state.ledger.contains(id)) checkRow(id);
    return;
  }
  std::vector<bool> inContext(state.ledger.size());
  for (LedgerId id : state.context)
    if (state.ledger.contains(id)) inContext[static_cast<std::size_t>(id.value())] = true;
  for (std::size_t i = 0; i < state.ledger.size(); ++i) {
    const LedgerId id(static_cast<std::int32_t>(i));
    checkRow(id);
    const RowState rowState = state.ledger[id].state;
    if (!inContext[i] && (counted(rowState) || rowState == RowState::Evicted))
      findings.add({{}, {}, id}, rowName(id) + " is " + std::string(name(rowState)) + ", but is not in the context");
  }
}

}  // namespace kvlab
