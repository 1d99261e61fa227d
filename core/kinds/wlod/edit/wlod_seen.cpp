// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/edit/wlod_seen.h"

#include <algorithm>

#include "core/state/provenance.h"
#include "kernels/ops/attention.h"

namespace kvlab {
namespace {

/// Calls visit(row, index in the map) for each row that the map lists; both are in order of arrival.
template <class Visit>
void forEachListed(const WlodState& state, const ResidencyView& stored, Visit visit) {
  std::size_t row = 0;
  for (std::size_t i = 0; i < stored.size(); ++i, ++row) {
    while (row < state.ledger.size() && state.ledger[row] != stored.ledger[i]) ++row;
    if (row == state.ledger.size()) return;
    visit(row, i);
  }
}

bool listsAll(const WlodState& state, const ResidencyView& stored) { return stored.size() == at(state.count()); }

/// Appends the rows of a block that the layer holds; [rows of the block + 1] how many of the first ones these are.
std::vector<std::int32_t> addList(const QueryBlock& block, const MissingRows& missing, SeenRows& out) {
  constexpr auto kBlock = static_cast<std::size_t>(kernels::kAttentionBlock);
  out.rows.resize((out.rows.size() + kBlock - 1) / kBlock * kBlock);
  std::vector<std::int32_t> held{0};
  for (const std::int32_t row : block.rows) {
    const bool has = missing.empty() || !missing[at(row)];
    if (has) out.rows.push_back(row);
    held.push_back(held.back() + has);
  }
  return held;
}

}  // namespace

MissingRows missingRows(const WlodState& state, const LayerGroup& group) {
  if (group.evicted.empty()) return {};
  std::vector<LedgerId> evicted(group.evicted.begin(), group.evicted.end());
  std::ranges::sort(evicted);
  MissingRows out(at(state.count()));
  for (std::size_t row = 0; row < out.size(); ++row)
    out[row] = state.rows[row].entry && std::ranges::binary_search(evicted, state.ledger[row]);
  if (std::ranges::find(out, true) == out.end()) out.clear();
  return out;
}

Column<Slot> slotsByRow(const WlodState& state, const ResidencyView& stored) {
  if (listsAll(state, stored) && stored.first == 0) return stored.slotOf;
  std::vector<Slot> out(at(state.count()), Slot(-1));
  forEachListed(state, stored, [&](std::size_t row, std::size_t i) {
    if (stored.has(i)) out[row] = stored.slotOf[i];
  });
  return Column<Slot>(out);
}

SeenRows seenRows(std::span<const QueryBlock> blocks, std::span<const std::int32_t> queries,
                  const MissingRows& missing) {
  SeenRows out;
  out.begin.resize(queries.size()), out.end.resize(queries.size()), out.self.resize(queries.size());
  for (const QueryBlock& block : blocks) {
    const std::vector<std::int32_t> held = addList(block, missing, out);
    const auto begin = static_cast<std::int32_t>(out.rows.size()) - held.back();
    for (std::size_t i = 0; i < block.queries.size(); ++i) {
      const std::int32_t row = block.queries[i];
      const auto query = at(std::lower_bound(queries.begin(), queries.end(), row) - queries.begin());
      out.begin[query] = begin;
      out.end[query] = begin + held[at(block.seen[i])];
      out.self[query] = block.self[i] || (!missing.empty() && missing[at(row)]);
    }
  }
  return out;
}

std::vector<std::int32_t> SeenRows::through(const WlodState& state, std::span<const std::int32_t> queries,
                                            int window) const {
  if (!window) return begin;
  const auto phase = [&](std::int32_t row) { return state.rows[at(row)].node.phase(); };
  std::vector<std::int32_t> out;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const auto from = rows.begin() + begin[q], to = rows.begin() + end[q];  // phases ascend
    const std::int32_t last = phase(queries[q]) - window;
    out.push_back(static_cast<std::int32_t>(
        std::partition_point(from, to, [&](std::int32_t row) { return phase(row) <= last; }) - rows.begin()));
  }
  return out;
}

std::vector<Provenance> provenancesOf(const WlodState& state, const SeenRows& seen, std::span<const std::int32_t> rows,
                                      int window) {
  std::vector<Provenance> sums(1);  // prefix sums over the rows of all lists
  for (const std::int32_t row : seen.rows) {
    const LedgerId id = state.ledger[at(row)];
    Provenance sum = sums.back();
    sum.ids += idWord(id);
    sum.phased += phasedWord(id, state.rows[at(row)].node.phase());
    sums.push_back(sum);
  }
  const std::vector<std::int32_t> begin = seen.through(state, rows, window);
  std::vector<Provenance> out;
  for (std::size_t q = 0; q < rows.size(); ++q) {
    const Provenance &from = sums[at(begin[q])], &to = sums[at(seen.end[q])];
    Provenance one{to.ids - from.ids, to.phased - from.phased, 0};
    if (seen.self[q]) {  // also if the layer does not hold the row itself
      const LedgerId id = state.ledger[at(rows[q])];
      one.ids += idWord(id);
      one.phased += phasedWord(id, state.rows[at(rows[q])].node.phase());
    }
    out.push_back(one);
  }
  return out;
}

void noteProvenance(CacheState& state, std::span<const std::int32_t> rows) {
  const WlodState& wlod = wlodIn(state);
  const Coverage coverage(wlod.context, wlod.rows.span(), wlod.rules.attention, wlod.rules.pyramid);
  const std::vector<QueryBlock> blocks = coverage.blocks(rows);
  for (LayerGroup& group : state.groups) {
    const SeenRows seen = seenRows(blocks, rows, missingRows(wlod, group));
    const std::vector<Provenance> today = provenancesOf(wlod, seen, rows, group.window);
    std::vector<Provenance> column(group.provenance.begin(), group.provenance.end());
    for (std::size_t i = 0; i < rows.size(); ++i) column[at(wlod.ledger[at(rows[i])].value())] = today[i];
    group.provenance.assign(column);
  }
}

}  // namespace kvlab
