// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/invalidation.h"

#include <algorithm>
#include <cstdio>

namespace kvlab {
namespace {

bool holdsChange(TreeNode node, const std::vector<TimelineChange>& changes, bool contentAlone) {
  return std::any_of(changes.begin(), changes.end(), [&](const TimelineChange& change) {
    return (change.content || !contentAlone) && change.moments.overlaps(node.moments());
  });
}

std::string figures(const char* text, double a, double b) {
  char out[160];
  std::snprintf(out, sizeof out, text, a, b);
  return out;
}

}  // namespace

Invalidation invalidate(std::span<const WlodRow> before, std::span<const WlodRow> after,
                        const std::vector<TimelineChange>& changes) {
  Invalidation out;
  out.earliest = after.empty() ? 0 : after.back().node.end();
  for (const TimelineChange& change : changes) out.earliest = std::min(out.earliest, change.moments.begin);
  std::vector<TreeNode> known;
  for (const WlodRow& row : before)
    if (row.node.end() > out.earliest) known.push_back(row.node);
  std::sort(known.begin(), known.end());
  out.firstDirty = static_cast<std::int32_t>(after.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    const TreeNode node = after[i].node;
    const bool dirty = node.end() > out.earliest, holds = dirty && holdsChange(node, changes, false),
               later = node.start > out.earliest;
    if (dirty) out.firstDirty = std::min(out.firstDirty, static_cast<std::int32_t>(i));
    out.why.push_back(!dirty               ? DirtyWhy::Clean
                          : holds && later ? DirtyWhy::Both
                          : holds          ? DirtyWhy::Hierarchical
                                           : DirtyWhy::Temporal);
    out.layer0.push_back(dirty && std::binary_search(known.begin(), known.end(), node) &&
                         !holdsChange(node, changes, true));
  }
  return out;
}

RecomputeChoice chooseRecompute(const Invalidation& invalidation, std::int64_t dirtyPairs, std::int64_t pairs,
                                const RecomputeCosts& costs) {
  RecomputeChoice out;
  const auto rows = static_cast<double>(invalidation.why.size());
  out.share = invalidation.share();
  out.incrementalUs =
      costs.incrementalUs + invalidation.dirty() * costs.rowUs + static_cast<double>(dirtyPairs) * costs.pairUs;
  out.fullUs = rows * costs.rowUs + static_cast<double>(pairs) * costs.pairUs;
  const bool many = out.share > costs.threshold;
  out.full = many || out.incrementalUs > out.fullUs;
  out.reason = many ? figures("the dirty share %.2f is above %.2f", out.share, costs.threshold)
      : out.full    ? figures("incremental would take %.0f us, full %.0f us", out.incrementalUs, out.fullUs)
                    : figures("incremental takes about %.0f us, full %.0f us", out.incrementalUs, out.fullUs);
  return out;
}

}  // namespace kvlab
