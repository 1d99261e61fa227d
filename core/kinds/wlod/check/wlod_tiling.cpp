// SPDX-License-Identifier: Apache-2.0
// A working context covers its time line in time order, without gap or overlap. Each node has the span of its level and
// starts at a multiple of the span. The entries fit into the budget, and no block is partly expanded: each moment
// belongs to one entry. A focus round takes the strongest candidates first. Sessions without wLOD pass. semantics.md,
// section 8.
#include <optional>

#include "core/check/checks.h"
#include "core/kinds/wlod/check/wlod_checks.h"
#include "core/kinds/wlod/state/wlod_state.h"

namespace kvlab {
namespace {

/// The last focus round took the strongest candidates first, and let none wait that has rested.
void checkRound(const CheckInput& input, Findings& findings) {
  const WlodState& state = wlodIn(input.state);
  const WlodState* const prior = input.before ? wlodOf(*input.before) : nullptr;
  if (state.rounds.empty() || state.rounds.back()->tick != input.state.tick || !prior) return;
  const auto& earlier = prior->rounds;
  if (!earlier.empty() && earlier.back() == state.rounds.back()) return;  // a change of rules in the same tick
  const WorkingContext& was = prior->context;
  std::optional<double> last[2];  // scores of a collapse and an expansion
  for (const FocusDecision& one : state.rounds.back()->decisions) {
    const bool inside = one.node.start < was.length() && one.node.end() <= was.length();
    const LedgerId id = inside ? state.tree.row(one.node) : LedgerId(-1);
    const Place place{{}, {}, id.value() < 0 ? std::nullopt : std::optional(id)};
    if (one.done && one.code == "accepted") {
      std::optional<double>& before = last[one.expand];
      if (before && (one.expand ? one.score > *before : one.score < *before))
        findings.add(place, one.node.text() + " was taken behind a weaker candidate");
      before = one.score;
    }
    if (one.code != "cooldown" || !inside) continue;
    bool rested = true;
    for (std::int32_t i = was.entryAt(one.node.start); i < was.cost() && was.entries()[at(i)].start < one.node.end();
         ++i)
      rested = rested && !(was.age(i) && *was.age(i) + 1 < state.rules.working.cooldown);
    if (rested) findings.add(place, one.node.text() + " has rested, and a focus round let it wait");
  }
}

}  // namespace

void checkWlodTiling(const CheckInput& input, Findings& findings) {
  if (!wlodOf(input.state)) return;
  const WlodState& state = wlodIn(input.state);
  const Column<TreeNode>& entries = state.context.entries();
  std::int32_t moment = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const TreeNode entry = entries[i];
    const auto where = [&] { return "entry " + std::to_string(i) + ", " + entry.text(); };
    const Place place{{}, i, {}};
    if (!entry.aligned()) findings.add(place, where() + " is not aligned to its level");
    else if (entry.start > moment)
      findings.add(place, where() + ": nothing covers the moments from " + std::to_string(moment) + " on");
    else if (entry.start < moment)
      findings.add(place, where() + " overlaps what is before it, which ends at " + std::to_string(moment));
    if (entry.level > 0 && !state.tree.has(entry))
      findings.add(place, where() + " stands for a block that is not complete");
    moment = entry.end();
  }
  checkRound(input, findings);
  if (moment != state.tree.length())
    findings.add({},
                 "the working context ends at " + std::to_string(moment) + ", the time line at " +
                     std::to_string(state.tree.length()));
  if (state.context.cost() > state.rules.working.budget)
    findings.add({},
                 "there are " + std::to_string(state.context.cost()) + " entries, the budget is " +
                     std::to_string(state.rules.working.budget));
}

}  // namespace kvlab
