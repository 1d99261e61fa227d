// SPDX-License-Identifier: Apache-2.0
// Entries and summaries stand in order of arrival. Context, maps and phases follow the entries, and the phase of a gist
// is its centre. Tokens and gists have the ledger rows that the tree names. No gist is dirty, because rows that depend
// on a dirty gist would count as clean. Sessions without wLOD pass. semantics.md, section 8.
#include <algorithm>

#include "core/check/checks.h"
#include "core/check/findings.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

/// Compares one entry with the mirror and the maps.
void checkEntry(const CheckInput& input, const std::vector<SharedMap>& maps, std::size_t index, std::size_t row,
                Findings& findings) {
  const CacheState& state = input.state;
  const WlodState& wlod = *state.wlod;
  const TreeNode node = wlod.rows[row].node;
  const LedgerId id = wlod.ledger[row];
  const Place place{{}, index, id};
  const auto where = [&] { return "entry " + std::to_string(index) + ", " + node.text() + ", " + rowName(id); };
  if (index >= state.context.size() || state.context[index] != id)
    return findings.add(place, where() + " is not in the context");
  if (state.phases[index] != node.phase())
    findings.add(place,
                 where() + " has phase " + std::to_string(state.phases[index]) + ", its centre is " +
                     std::to_string(node.phase()));
  for (const SharedMap& shared : maps) {
    if (index >= shared.map->slotOf.size()) continue;  // another invariant checks lengths
    const Slot lies = shared.group->stored().slotOf[row];
    if (shared.map->slotOf[index] != lies)
      findings.add({shared.first(), index, id},
                   shared.name() + ", " + where() + ": the map has slot " +
                       std::to_string(shared.map->slotOf[index].value()) + ", the row lies in " +
                       std::to_string(lies.value()));
  }
}

}  // namespace

void checkWlodRows(const CheckInput& input, std::vector<Violation>& out) {
  if (!input.state.wlod) return;
  Findings findings("wlod_rows", out);
  const WlodState& wlod = *input.state.wlod;
  for (const TreeNode node : wlod.tree.dirty()) findings.add({}, node.text() + " is not the gist of its content");
  if (wlod.ledger.size() != wlod.rows.size())
    return findings.add({},
                        "there are " + std::to_string(wlod.rows.size()) + " rows and " +
                            std::to_string(wlod.ledger.size()) + " ledger ids");
  const std::vector<SharedMap> maps = sharedMaps(input);
  for (const SharedMap& shared : maps)
    if (const std::size_t slots = shared.group->stored().slotOf.size(); slots != wlod.rows.size())
      return findings.add(
          {shared.first(), {}, {}},
          shared.name() + " has " + std::to_string(slots) + " slots for " + std::to_string(wlod.rows.size()) + " rows");
  if (input.full) {
    const std::vector<WlodRow> wanted = wlodRows(wlod.context, wlod.rules.attention);
    if (!std::equal(wanted.begin(), wanted.end(), wlod.rows.begin(), wlod.rows.end()))
      findings.add({}, "the rows are not those of the working context in order of arrival");
  }
  std::size_t index = 0;
  for (std::size_t row = 0; row < wlod.rows.size(); ++row) {
    if (wlod.tree.row(wlod.rows[row].node) != wlod.ledger[row])
      findings.add({{}, {}, wlod.ledger[row]},
                   "row " + std::to_string(row) + ", " + wlod.rows[row].node.text() + ", is not the tree's");
    if (wlod.rows[row].entry) checkEntry(input, maps, index++, row, findings);
  }
}

}  // namespace kvlab
