// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/check/wlod_checks.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/check/checks.h"
#include "core/check/map_walk.h"
#include "core/check/scalar_decoder.h"
#include "core/kinds/wlod/state/wlod_state.h"
#include "core/model/decoder/transformer.h"

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

/// Compares one entry with the mirror.
void checkEntry(const CheckInput& input, std::size_t index, std::size_t row, Findings& findings) {
  const CacheState& state = input.state;
  const WlodState& wlod = wlodIn(state);
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
}

/// Compares a layer's rows and its map with the working context.
void checkLayer(const CheckInput& input, const SharedMap& shared, Findings& findings) {
  const WlodState& wlod = wlodIn(input.state);
  const ResidencyView &stored = shared.group->stored(), &map = *shared.map;
  const std::size_t rows = std::min(stored.ledger.size(), stored.slotOf.size());
  std::size_t next = 0, index = 0;  // in order of arrival, among the entries
  for (std::size_t row = 0; row < wlod.rows.size(); ++row) {
    const LedgerId id = wlod.ledger[row];
    const auto where = [&] { return shared.name() + ", " + wlod.rows[row].node.text() + ", " + rowName(id); };
    const bool held = next < rows && stored.ledger[next] == id, entry = wlod.rows[row].entry;
    const bool listed = entry && index < shared.rows() && map.ledger[index] == id;
    const Place place{shared.first(), index, id};
    if (!held && !entry) findings.add(place, where() + ": the layer has lost a summary");
    if (entry && held != listed)
      findings.add(place, where() + (held ? ": the map lacks a row of the layer" : ": the map has a row that left"));
    if (held && listed && map.has(index) != stored.has(next))
      findings.add(place, where() + ": map and layer differ about whether it has left through the window");
    else if (held && listed && map.slotOf[index] != stored.slotOf[next])
      findings.add(place,
                   where() + ": the map has slot " + std::to_string(map.slotOf[index].value()) + ", the row lies in " +
                       std::to_string(stored.slotOf[next].value()));
    next += held, index += listed;
  }
  if (next < rows)
    findings.add({shared.first(), {}, stored.ledger[next]},
                 shared.name() + ": " + rowName(stored.ledger[next]) + " is not in order of arrival");
}

/// Compares gists of means with the tokens under them: a full check up to 64 of a level, a cheap one those that have
/// come, and one of the others in every fourth tick.
void checkGists(const CheckInput& input, Findings& findings) {
  const WlodState& wlod = wlodIn(input.state);
  if (!input.transformer || !wlod.rules.means) return;
  constexpr std::int32_t kMost = 64, kTurns = 4;
  const WlodState* const before = input.before ? wlodOf(*input.before) : nullptr;
  const MegaContext& tree = wlod.tree;
  const ScalarDecoder decoder(input.transformer->model(), input.state.reach());
  const auto embed = [&](TokenId token) { return decoder.embed(token); };
  for (int level = 1; level <= kTopLevel; ++level) {
    const std::int32_t nodes = tree.nodes(level), turn = static_cast<std::int32_t>(input.state.tick.value());
    const std::int32_t known = before ? std::min(nodes, before->tree.nodes(level)) : 0;
    std::vector<std::int32_t> looked;
    for (std::int32_t i = known; i < nodes && nodes - i <= kMost; ++i) looked.push_back(i);
    const std::int32_t others = input.full ? std::min(known, kMost) : known > 0 && turn % kTurns == 0 ? 1 : 0;
    for (std::int32_t i = 0; i < others; ++i) looked.push_back((turn / (input.full ? 1 : kTurns) + i) % known);
    for (const std::int32_t i : looked) {
      const TreeNode node{level, i * spanOf(level)};
      const std::span<const float> gist = tree.gist(node);
      const std::vector<double> wanted = wlod.gistOf(input.state, node, embed);
      double apart = 0, most = 1e-30;
      for (std::size_t d = 0; d < wanted.size(); ++d) {
        apart = std::max(apart, std::abs(wanted[d] - static_cast<double>(gist[d])));
        most = std::max(most, std::abs(wanted[d]));
      }
      if (apart <= 1e-4 * most) continue;
      const LedgerId id = tree.row(node);
      findings.add({{}, {}, id.value() < 0 ? std::nullopt : std::optional(id)},
                   "the gist of " + node.text() + " is not the mean of its tokens");
    }
  }
}

}  // namespace

/// A working context covers its time line in time order, without gap or overlap. Each node has the span of its level
/// and starts at a multiple of the span. The entries fit into the budget, and no block is partly expanded: each moment
/// belongs to one entry. A focus round takes the strongest candidates first.
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

/// Entries and summaries stand in order of arrival. Context and phases follow the entries, and the phase of a gist is
/// its centre. A layer holds every summary, and its map lists the entries among the rows that it holds. Tokens and
/// gists have the ledger rows that the tree names. No gist is dirty, because rows that depend on a dirty gist would
/// count as clean.
void checkWlodRows(const CheckInput& input, Findings& findings) {
  if (!wlodOf(input.state)) return;
  const WlodState& wlod = wlodIn(input.state);
  for (const TreeNode node : wlod.tree.dirty()) findings.add({}, node.text() + " is not the gist of its content");
  if (wlod.ledger.size() != wlod.rows.size())
    return findings.add({},
                        "there are " + std::to_string(wlod.rows.size()) + " rows and " +
                            std::to_string(wlod.ledger.size()) + " ledger ids");
  for (const SharedMap& shared : sharedMaps(input)) checkLayer(input, shared, findings);
  if (wlod.tree.dirty().empty()) checkGists(input, findings);
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
    if (wlod.rows[row].entry) checkEntry(input, index++, row, findings);
  }
}

}  // namespace kvlab
