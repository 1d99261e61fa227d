// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/exactness.h"

#include <algorithm>
#include <optional>

#include "core/edit/group_pass.h"
#include "core/edit/recompute.h"
#include "core/state/provenance.h"

namespace kvlab {
namespace {

std::vector<RowTarget> allRows(const CacheState& state) {
  std::vector<RowTarget> rows;
  rows.reserve(state.context.size());
  for (std::int32_t p = 0; p < state.length(); ++p) rows.push_back(targetAt(state, p));
  return rows;
}

/// Fingerprint of the inputs from which a pass would compute row i today.
Provenance provenance(const CacheState& state, const LayerGroup& group, const RowTarget& row, const GroupPass& pass,
                      std::size_t i, std::uint64_t turn) {
  const std::size_t begin = at(pass.rowBegin[i]), end = at(pass.rowEnd[i] - (pass.resident[i] ? 1 : 0));
  Provenance out;
  out.ids = group.idSums[end] - group.idSums[begin];
  out.phased = group.phasedSums[end] - group.phasedSums[begin] + phasedWord(row.id, pass.phase[i]) +
      borderWord(pass.rowBegin[i]) + turn;
  out.context = state.contextSums[at(row.position)];
  return out;
}

/// Verdicts of a group's present map on the context rows that are exact up to the group's first layer.
struct Verdicts {
  bool made = false;
  std::vector<Exactness> own;                  // [length] Exact, or how the fingerprint differs
  std::vector<std::int32_t> rowBegin, rowEnd;  // [length] rows of the map that the row sees
  std::vector<std::int32_t> positionOf;        // [map rows]

  void make(const CacheState& state, const LayerGroup& group, const std::vector<RowTarget>& rows, bool cachePhases,
            std::uint64_t turn) {
    made = true;
    own.resize(state.context.size());
    rowBegin.resize(own.size());
    rowEnd.resize(own.size());
    const GroupPass pass = groupPass(state.context, group, rows, cachePhases, LeftRows::Present);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t p = at(rows[i].position);
      own[p] = verdict(group.provenance[at(rows[i].id.value())], provenance(state, group, rows[i], pass, i, turn));
      rowBegin[p] = pass.rowBegin[i];
      rowEnd[p] = pass.rowEnd[i];
    }
    const Column<LedgerId>& resident = group.map->ledger;
    for (std::size_t p = 0; p < own.size() && positionOf.size() < resident.size(); ++p)
      if (resident[positionOf.size()] == state.context[p]) positionOf.push_back(static_cast<std::int32_t>(p));
  }
};

}  // namespace

Exactness verdict(const Provenance& then, const Provenance& now) {
  if (then == now) return Exactness::Exact;
  if (then.context != now.context) return Exactness::ContextEdited;
  if (then.ids != now.ids) return Exactness::ContextEvicted;
  return Exactness::PhaseShifted;
}

std::vector<Exactness> withLoaded(const CacheState& state, CacheLayer layer, std::span<const LedgerId> ids,
                                  std::vector<Exactness> labels) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] == Exactness::Exact && state.pastOf(layer, ids[i]).loaded) labels[i] = Exactness::Loaded;
  return labels;
}

bool whollyLoaded(const CacheState& state, LedgerId id) {
  return state.pastOf(CacheLayer(static_cast<std::int32_t>(state.groupOf.size()) - 1), id).loaded;
}

namespace {

/// The rows that are exact so far, on their way through the layers.
struct Labels {
  explicit Labels(const CacheState& state)
      : exact(allRows(state)), row(exact.size(), Exactness::Exact), from(exact.size(), -1) {}

  std::vector<RowTarget> exact;
  std::vector<Exactness> row;      // [length] a row's K and V at layer 0 come from its embedding alone
  std::vector<std::int32_t> from;  // [length]
  int changes = 0;                 // of `row`

  /// Passes cache layers with these verdicts, behind the labels `input`.
  void pass(const CacheState& state, const Verdicts& now, const std::vector<Exactness>& input) {
    std::vector<std::int32_t> inexact;  // indices of this layer's inexact rows, ascending
    for (std::size_t i = 0; i < now.positionOf.size(); ++i)
      if (input[at(now.positionOf[i])] != Exactness::Exact) inexact.push_back(static_cast<std::int32_t>(i));
    const std::size_t left = std::erase_if(exact, [&](const RowTarget& one) {
      const std::size_t i = at(one.position);
      row[i] = now.own[i];
      if (row[i] != Exactness::Exact) return true;
      if (whollyLoaded(state, one.id)) return false;
      const auto seen = std::lower_bound(inexact.begin(), inexact.end(), now.rowBegin[i]);
      if (seen == inexact.end() || *seen >= now.rowEnd[i]) return false;
      row[i] = Exactness::Inherited;
      from[i] = now.positionOf[at(*seen)];
      return true;
    });
    changes += left > 0 ? 1 : 0;
  }
};

/// Calls sees(layer, labels in front of it, labels) for each layer of the model; all its heads share the input.
template <class Sees>
void throughLayers(CacheState& state, bool cachePhases, std::uint64_t turn, Sees sees) {
  extendSums(state);
  std::vector<Verdicts> groups(state.groups.size());
  std::vector<int> passed(groups.size(), -1);  // Labels::changes in front of the last layer of a group
  Labels labels(state);
  std::vector<Exactness> input;
  int before = -1;
  for (const CacheLayer layer : state.layers()) {
    if (state.cacheLayers().partOf(layer) == 0) {
      if (!state.pasts.empty()) input = withLoaded(state, layer, state.context.span(), labels.row);
      else if (before != labels.changes) input = labels.row;
      before = labels.changes;
      sees(layer, input, labels);
    }
    const auto g = at(state.groupOf[at(layer)]);
    if (state.pasts.empty() && passed[g] == before) continue;  // the same rows in front of the same map
    passed[g] = before;
    if (!groups[g].made) groups[g].make(state, state.group(layer), labels.exact, cachePhases, turn);
    labels.pass(state, groups[g], input);
  }
}

}  // namespace

ExactnessMap exactness(CacheState& state, bool cachePhases, std::uint64_t turn) {
  ExactnessMap out;
  throughLayers(state, cachePhases, turn, [&](CacheLayer, const std::vector<Exactness>& input, const Labels& labels) {
    out.layers.insert(out.layers.end(), at(state.perLayer), input);
    out.inherited.insert(out.inherited.end(), at(state.perLayer), labels.from);
  });
  return out;
}

namespace {

/// lastExactness() where all layers have one map of the whole context and no window: a row saw all rows in front of it.
/// None = elsewhere. From the third layer on a row has seen every row in front of it that its first layer made inexact.
std::optional<std::vector<Exactness>> ofOneWholeMap(const CacheState& state, std::uint64_t turn) {
  if (state.groups.size() != 1 || !state.pasts.empty() || state.cacheLayers().last() < Layer(2)) return std::nullopt;
  const LayerGroup& group = state.groups.front();
  const std::span<const LedgerId> context = state.context.span();
  const std::span<const std::int32_t> phases = group.map->phases.span();
  if (group.window > 0 || phases.size() != context.size() || !std::ranges::equal(group.map->ledger, context))
    return std::nullopt;
  std::vector<Exactness> out(context.size());
  Exactness fromHere = Exactness::Exact;  // label of the rows that are computed alike
  Provenance seen = {};                   // sums of the rows so far
  for (std::size_t i = 0; i < context.size(); ++i) {
    const std::uint64_t id = idWord(context[i]), phased = phasedWord(context[i], phases[i]);
    const Exactness own = verdict(group.provenance[at(context[i])],
                                  {.ids = seen.ids, .phased = seen.phased + phased + turn, .context = seen.context});
    out[i] = own == Exactness::Exact ? fromHere : own;
    if (own != Exactness::Exact) fromHere = Exactness::Inherited;
    seen = {.ids = seen.ids + id, .phased = seen.phased + phased, .context = seen.context + id};
  }
  return out;
}

}  // namespace

std::vector<Exactness> lastExactness(CacheState& state, bool cachePhases, std::uint64_t turn) {
  if (std::optional<std::vector<Exactness>> known = ofOneWholeMap(state, turn)) return *std::move(known);
  std::vector<Exactness> out(state.context.size(), Exactness::Exact);
  const CacheLayers all = state.cacheLayers();
  throughLayers(state, cachePhases, turn, [&](CacheLayer layer, const std::vector<Exactness>& input, const Labels&) {
    if (all.layerOf(layer) == all.last()) out = input;
  });
  return out;
}

void refreshProvenance(CacheState& state, bool cachePhases, std::uint64_t turn) {
  extendSums(state);
  const std::vector<RowTarget> rows = allRows(state);
  for (LayerGroup& group : state.groups) {
    const GroupPass pass = groupPass(state.context, group, rows, cachePhases, LeftRows::Present);
    std::vector<Provenance> column(group.provenance.begin(), group.provenance.end());
    for (std::size_t i = 0; i < rows.size(); ++i)
      column[at(rows[i].id.value())] = provenance(state, group, rows[i], pass, i, turn);
    group.provenance.assign(column);
  }
}

}  // namespace kvlab
