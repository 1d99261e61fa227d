// SPDX-License-Identifier: Apache-2.0
#include "core/policy/kept_scores.h"

#include "core/state/map_runs.h"

namespace kvlab {
namespace {

/// Rows in front of two runs that have the same slots and phases, and ids below `known`.
std::size_t rowsAlike(const ResidencyView& then, std::size_t old, const ResidencyView& now, std::size_t from,
                      std::size_t rows, std::size_t known) {
  if (!then.has(old) || !now.has(from)) return 0;
  const auto front = [&](const auto& a, const auto& b) {
    rows = alikeInFront(a.span().subspan(old, rows), b.span().subspan(from, rows));
  };
  front(then.slotOf, now.slotOf);
  front(then.phases, now.phases);
  const std::span<const LedgerId> ids = now.ledger.span().subspan(from, rows);
  const auto newer = std::ranges::find_if(ids, [known](LedgerId id) { return at(id) >= known; });
  return static_cast<std::size_t>(newer - ids.begin());
}

}  // namespace

std::vector<std::size_t> takeScores(const RowValues& scores, const Column<std::int32_t>& scoredBy,
                                    const LayerGroup& group, std::vector<float>& out) {
  const ResidencyView& map = *group.map;
  const std::size_t first = at(map.first);
  std::vector<std::size_t> unknown;
  std::size_t next = first;
  const auto unknownUntil = [&](std::size_t end) {
    for (; next < end; ++next) unknown.push_back(next);
  };
  const bool known = scores.map && scores.values.size() == scores.map->size() && !scoredBy.empty() &&
      continues(group.writers, scoredBy);
  if (known)
    forCommonRuns(scores.map->ledger.span(), map.ledger.span(),
                  [&](std::size_t old, std::size_t now, std::size_t count) {
                    for (const std::size_t end = now + count; now < end;) {
                      const std::size_t same = rowsAlike(*scores.map, old, map, now, end - now, scoredBy.size());
                      if (same > 0) {
                        unknownUntil(now);
                        std::copy_n(&scores.values[old], same, &out[now - first]);
                        next = now + same;
                      }
                      old += same + 1, now += same + 1;  // the row behind them has changed
                    }
                  });
  unknownUntil(map.size());
  return unknown;
}

ResidencyView partOf(const ResidencyView& map, const std::vector<std::size_t>& indices) {
  std::vector<LedgerId> ledger;
  std::vector<Slot> slots;
  std::vector<std::int32_t> phases;
  for (const std::size_t i : indices) {
    ledger.push_back(map.ledger[i]);
    slots.push_back(map.slotOf[i]);
    phases.push_back(map.phases[i]);
  }
  return {Column<LedgerId>(ledger), Column<Slot>(slots), Column<std::int32_t>(phases), map.otherPhases, 0};
}

}  // namespace kvlab
