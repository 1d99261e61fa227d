// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/exactness.h"

#include "core/edit/group_pass.h"
#include "core/edit/recompute.h"
#include "core/state/provenance.h"

namespace kvlab {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// What today's maps say of each context row in one group.
struct Verdicts {
  GroupPass pass;
  std::vector<Provenance> now;           // [length]
  std::vector<Exactness> own;            // [length] Exact, or how what it saw differs
  std::vector<std::int32_t> positionOf;  // [map rows]
};

std::vector<RowTarget> allRows(const CacheState& state) {
  std::vector<RowTarget> rows;
  for (std::int32_t p = 0; p < state.length(); ++p) rows.push_back(targetAt(state, p));
  return rows;
}

Exactness verdict(const Provenance& then, const Provenance& now) {
  if (then == now) return Exactness::Exact;
  if (then.context != now.context) return Exactness::ContextEdited;
  if (then.ids != now.ids) return Exactness::ContextEvicted;
  return Exactness::PhaseShifted;
}

Verdicts verdicts(const CacheState& state, const LayerGroup& group,
                  const std::vector<RowTarget>& rows, bool cachePhases) {
  Verdicts out{groupPass(state.context, group, rows, cachePhases, LeftRows::Present), {}, {}, {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t begin = at(out.pass.rowBegin[i]);
    const std::size_t end = at(out.pass.rowEnd[i] - (out.pass.resident[i] ? 1 : 0));
    Provenance now;
    now.ids = group.idSums[end] - group.idSums[begin];
    now.phased = group.phasedSums[end] - group.phasedSums[begin] + phasedWord(rows[i].id, out.pass.phase[i]);
    now.context = state.contextSums[i];
    out.now.push_back(now);
    out.own.push_back(verdict(group.provenance[at(rows[i].id.value())], now));
    if (out.pass.resident[i]) out.positionOf.push_back(static_cast<std::int32_t>(i));
  }
  return out;
}

}  // namespace

ExactnessMap exactness(CacheState& state, bool cachePhases) {
  extendContextSums(state);
  const std::vector<RowTarget> rows = allRows(state);
  std::vector<Verdicts> groups;
  for (LayerGroup& group : state.groups) {
    extendSums(*group.map, group.idSums, group.phasedSums);
    groups.push_back(verdicts(state, group, rows, cachePhases));
  }
  ExactnessMap out;
  // A row's K and V at layer 0 come from its embedding alone.
  std::vector<Exactness> row(rows.size(), Exactness::Exact);
  std::vector<std::int32_t> from(rows.size(), -1);
  for (int layer = 0; layer < state.layers(); ++layer) {
    out.layers.push_back(row);
    out.inherited.push_back(from);
    const Verdicts& now = groups[at(state.groupOf[at(layer)])];
    std::vector<std::int32_t> inexact;  // indices of this layer's inexact rows, ascending
    for (std::size_t i = 0; i < now.positionOf.size(); ++i)
      if (row[at(now.positionOf[i])] != Exactness::Exact) inexact.push_back(static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (row[i] != Exactness::Exact) continue;
      row[i] = now.own[i];
      const auto seen = std::lower_bound(inexact.begin(), inexact.end(), now.pass.rowBegin[i]);
      if (row[i] != Exactness::Exact || seen == inexact.end() || *seen >= now.pass.rowEnd[i]) continue;
      row[i] = Exactness::Inherited;
      from[i] = now.positionOf[at(*seen)];
    }
  }
  return out;
}

void refreshProvenance(CacheState& state, bool cachePhases) {
  extendContextSums(state);
  const std::vector<RowTarget> rows = allRows(state);
  for (LayerGroup& group : state.groups) {
    extendSums(*group.map, group.idSums, group.phasedSums);
    const Verdicts today = verdicts(state, group, rows, cachePhases);
    std::vector<Provenance> column(group.provenance.begin(), group.provenance.end());
    for (std::size_t i = 0; i < rows.size(); ++i) column[at(rows[i].id.value())] = today.now[i];
    group.provenance.assign(column);
  }
}

}  // namespace kvlab
