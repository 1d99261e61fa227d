// SPDX-License-Identifier: Apache-2.0
#include "core/state/commit.h"

#include <algorithm>

#include "core/api/column.h"
#include "core/state/map_runs.h"

namespace kvlab {
namespace {

/// [ledger] slots of a map; -1 where it has no row.
std::vector<std::int32_t> slotsByRow(const ResidencyView& map, std::size_t rows) {
  std::vector<std::int32_t> out(rows, -1);
  for (std::size_t i = at(map.first); i < std::min(map.ledger.size(), map.slotOf.size()); ++i)
    if (at(map.ledger[i].value()) < rows) out[at(map.ledger[i].value())] = map.slotOf[i].value();
  return out;
}

/// Rows that were there before and lie elsewhere now, or were computed from something else.
void noteChanged(const LayerGroup& old, const LayerGroup& now, std::vector<std::int32_t>& writers,
                 std::int32_t number) {
  const std::size_t rows = std::min({writers.size(), old.provenance.size(), now.provenance.size()});
  const std::vector<std::int32_t> from = slotsByRow(old.stored(), rows), to = slotsByRow(now.stored(), rows);
  for (std::size_t id = 0; id < rows; ++id)
    if (to[id] >= 0 && (from[id] != to[id] || !(old.provenance[id] == now.provenance[id]))) writers[id] = number;
}

/// True if every row of `now` with an id below `rows` is a row of `old` in the same slot. Both are in context order.
bool inPlace(const ResidencyView& old, const ResidencyView& now, std::int32_t rows) {
  const std::size_t end = std::min(now.ledger.size(), now.slotOf.size()),
                    oldEnd = std::min(old.ledger.size(), old.slotOf.size());
  const std::size_t first = std::min(at(now.first), end), from = std::min(at(old.first), oldEnd);
  std::size_t next = first;  // behind the rows that were looked at
  const auto allNew = [&](std::size_t until) {
    const std::span<const LedgerId> between = now.ledger.span().subspan(next, until - next);
    return std::ranges::all_of(between, [rows](LedgerId id) { return id.value() >= rows; });
  };
  bool same = true;
  forCommonRuns(old.ledger.span().first(oldEnd).subspan(from), now.ledger.span().first(end).subspan(first),
                [&](std::size_t was, std::size_t is, std::size_t count) {
                  same = same && allNew(first + is) &&
                      alikeInFront(old.slotOf.span().subspan(from + was, count),
                                   now.slotOf.span().subspan(first + is, count)) == count;
                  next = first + is + count;
                });
  return same && allNew(end);
}

/// True if no row that was there before has moved or was computed from something else; rows may have come or left.
bool unchanged(const LayerGroup& old, const LayerGroup& now) {
  return now.provenance.size() >= old.provenance.size() &&
      now.provenance.prefix(old.provenance.size()).sharesWith(old.provenance) &&
      ((continues(now.stored().ledger, old.stored().ledger) && continues(now.stored().slotOf, old.stored().slotOf)) ||
       inPlace(old.stored(), now.stored(), static_cast<std::int32_t>(old.provenance.size())));
}

/// The column of a group whose rows were those of `old`: rows that came are the commit's.
Column<std::int32_t> grown(const LayerGroup& old, const LayerGroup& now, std::size_t rows, std::int32_t number) {
  // A commit that forgets rows goes back to a state, which knows its own writers.
  Column<std::int32_t> out = old.writers.size() > rows ? now.writers.prefix(rows) : old.writers;
  while (out.size() < rows) out.push_back(number);
  return out;
}

}  // namespace

void noteWriters(const CacheState& before, Commit& commit, std::int32_t number) {
  CacheState& after = commit.state;
  const std::size_t rows = after.ledger.size();
  const bool all = commit.rewritten || commit.stored || (commit.severed && commit.damaged.empty());
  for (std::size_t g = 0; g < after.groups.size(); ++g) {
    const auto layer = std::find(after.groupOf.begin(), after.groupOf.end(), static_cast<std::int32_t>(g));
    if (layer == after.groupOf.end()) continue;
    LayerGroup& now = after.groups[g];
    const LayerGroup& old = before.group(CacheLayer(static_cast<std::int32_t>(layer - after.groupOf.begin())));
    now.writers = grown(old, now, rows, number);
    if (!all && unchanged(old, now)) continue;
    std::vector<std::int32_t> writers(now.writers.begin(), now.writers.end());
    if (all) std::fill(writers.begin(), writers.end(), number);
    else noteChanged(old, now, writers, number);
    now.writers.assign(writers);
  }
  for (const auto& [layer, id] : commit.damaged) {
    Column<std::int32_t>& column = after.groups[at(after.groupOf[at(layer)])].writers;
    std::vector<std::int32_t> writers(column.begin(), column.end());
    writers[at(id.value())] = number;
    column.assign(writers);
  }
}

}  // namespace kvlab
