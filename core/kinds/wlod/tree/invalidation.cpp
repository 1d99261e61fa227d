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

void CostMeter::add(std::int64_t rows, std::int64_t pairs, double us) {
  if (rows <= 0 || !(us > 0)) return;
  const double r = static_cast<double>(rows) / us,
               p = static_cast<double>(pairs) / us;  // per microsecond: relative errors
  for (double* sum : {&m_rr, &m_rp, &m_pp, &m_ru, &m_pu}) *sum *= kFading;
  m_rr += r * r, m_rp += r * p, m_pp += p * p, m_ru += r, m_pu += p;
}

RecomputeCosts CostMeter::costs(const RecomputeCosts& before) const {
  RecomputeCosts out = before;
  if (!(m_rr > 0)) return out;
  const double det = m_rr * m_pp - m_rp * m_rp;
  double row = m_ru / m_rr, pair = 0;
  if (det > 1e-9 * m_rr * m_pp) {
    row = (m_ru * m_pp - m_pu * m_rp) / det;
    pair = (m_pu * m_rr - m_ru * m_rp) / det;
    if (pair < 0) row = m_ru / m_rr, pair = 0;
    if (row < 0) row = 0, pair = m_pu / m_pp;
  }
  out.rowUs = row;
  out.pairUs = pair;
  return out;
}

}  // namespace kvlab
