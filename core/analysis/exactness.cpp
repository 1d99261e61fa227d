// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/exactness.h"

#include "core/edit/group_pass.h"
#include "core/edit/recompute.h"
#include "core/edit/wlod_seen.h"
#include "core/state/provenance.h"

namespace kvlab {
namespace {

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

/// Fingerprints of what a pass would compute the rows from today. [rows]
std::vector<Provenance> provenances(const CacheState& state, const LayerGroup& group,
                                    const std::vector<RowTarget>& rows, const GroupPass& pass, std::uint64_t turn) {
  std::vector<Provenance> out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t begin = at(pass.rowBegin[i]);
    const std::size_t end = at(pass.rowEnd[i] - (pass.resident[i] ? 1 : 0));
    out[i].ids = group.idSums[end] - group.idSums[begin];
    out[i].phased = group.phasedSums[end] - group.phasedSums[begin] + phasedWord(rows[i].id, pass.phase[i]) +
        borderWord(pass.rowBegin[i]) + turn;
    out[i].context = state.contextSums[at(rows[i].position)];
  }
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
    const std::vector<Provenance> now = provenances(state, group, rows, pass, turn);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t p = at(rows[i].position);
      own[p] = verdict(group.provenance[at(rows[i].id.value())], now[i]);
      rowBegin[p] = pass.rowBegin[i];
      rowEnd[p] = pass.rowEnd[i];
    }
    const Column<LedgerId>& resident = group.map->ledger;
    for (std::size_t p = 0; p < own.size() && positionOf.size() < resident.size(); ++p)
      if (resident[positionOf.size()] == state.context[p]) positionOf.push_back(static_cast<std::int32_t>(p));
  }
};

/// Labels of rows in a layer, [rows]: a row that is otherwise exact becomes Loaded if it came from a file.
std::vector<Exactness> withLoaded(const CacheState& state, CacheLayer layer, std::span<const LedgerId> ids,
                                  std::vector<Exactness> labels) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] == Exactness::Exact && state.pastOf(layer, ids[i]).loaded) labels[i] = Exactness::Loaded;
  return labels;
}

/// True for a row that a file brought: nobody knows what it saw.
bool whollyLoaded(const CacheState& state, LedgerId id) {
  return state.pastOf(CacheLayer(static_cast<std::int32_t>(state.groupOf.size()) - 1), id).loaded;
}

}  // namespace

ExactnessMap exactness(CacheState& state, bool cachePhases, std::uint64_t turn) {
  extendContextSums(state);
  for (LayerGroup& group : state.groups) extendSums(*group.map, group.idSums, group.phasedSums);
  std::vector<Verdicts> groups(state.groups.size());
  std::vector<RowTarget> exact = allRows(state);  // so far
  ExactnessMap out;
  // A row's K and V at layer 0 come from its embedding alone.
  std::vector<Exactness> row(exact.size(), Exactness::Exact);
  std::vector<std::int32_t> from(exact.size(), -1);
  for (const CacheLayer layer : state.layers()) {
    if (state.cacheLayers().partOf(layer) == 0) {  // all heads of a layer of the model share the input
      out.layers.insert(out.layers.end(), at(state.perLayer), withLoaded(state, layer, state.context.span(), row));
      out.inherited.insert(out.inherited.end(), at(state.perLayer), from);
    }
    const std::vector<Exactness>& input = out.layers[at(layer)];
    Verdicts& now = groups[at(state.groupOf[at(layer)])];
    if (!now.made) now.make(state, state.group(layer), exact, cachePhases, turn);
    std::vector<std::int32_t> inexact;  // indices of this layer's inexact rows, ascending
    for (std::size_t i = 0; i < now.positionOf.size(); ++i)
      if (input[at(now.positionOf[i])] != Exactness::Exact) inexact.push_back(static_cast<std::int32_t>(i));
    std::erase_if(exact, [&](const RowTarget& one) {
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
  }
  return out;
}

void refreshProvenance(CacheState& state, bool cachePhases, std::uint64_t turn) {
  extendContextSums(state);
  const std::vector<RowTarget> rows = allRows(state);
  for (LayerGroup& group : state.groups) {
    extendSums(*group.map, group.idSums, group.phasedSums);
    const std::vector<Provenance> today =
        provenances(state, group, rows, groupPass(state.context, group, rows, cachePhases, LeftRows::Present), turn);
    std::vector<Provenance> column(group.provenance.begin(), group.provenance.end());
    for (std::size_t i = 0; i < rows.size(); ++i) column[at(rows[i].id.value())] = today[i];
    group.provenance.assign(column);
  }
}

namespace {

ExactnessMap staleRows(const CacheState& state) {
  const WlodState& wlod = *state.wlod;
  const std::vector<Exactness> exact(at(wlod.context.cost()), Exactness::Exact);
  std::vector<Exactness> own = exact;
  std::vector<std::int32_t> from(own.size(), -1);
  std::int32_t entry = 0, first = -1;
  for (std::int32_t row = 0; row < wlod.count(); ++row) {
    const bool stale = !wlod.stale.empty() && wlod.stale[at(row)], loaded = whollyLoaded(state, wlod.ledger[at(row)]);
    if ((stale || loaded) && first < 0) first = entry;
    if (!wlod.rows[at(row)].entry) continue;
    if (stale || (first >= 0 && !loaded)) own[at(entry)] = stale ? Exactness::ContextEdited : Exactness::Inherited;
    from[at(entry++)] = first;
  }
  ExactnessMap out;
  for (const CacheLayer layer : state.layers()) {  // layer 0 depends on the row alone
    const bool zero = state.cacheLayers().layerOf(layer) == Layer(0);
    out.layers.push_back(withLoaded(state, layer, state.context.span(), zero ? exact : own));
    out.inherited.push_back(zero ? std::vector<std::int32_t>(own.size(), -1) : from);
  }
  return out;
}

/// Compares what the rows of a wLOD state were computed from with what a pass would compute them from today.
class CoveredVerdicts {
 public:
  explicit CoveredVerdicts(const CacheState& state)
      : m_state(state), m_wlod(*state.wlod), m_row(at(m_wlod.count()), Exactness::Exact), m_from(m_row.size(), -1) {
    for (std::int32_t row = 0; row < m_wlod.count(); ++row) m_rows.push_back(row);
    const Coverage coverage(m_wlod.context, m_wlod.rows.span(), m_wlod.rules.attention, m_wlod.rules.pyramid);
    const std::vector<QueryBlock> blocks = coverage.blocks(m_rows);
    for (const LayerGroup& group : state.groups) {
      Group& one = m_groups.emplace_back();
      one.seen = seenRows(blocks, m_rows, missingRows(m_wlod, group.stored()));
      one.begin = one.seen.through(m_wlod, m_rows, group.window);
      const std::vector<Provenance> now = provenancesOf(m_wlod, one.seen, m_rows, group.window);
      for (std::size_t row = 0; row < m_rows.size(); ++row) {
        const bool stale = !m_wlod.stale.empty() && m_wlod.stale[row];
        one.own.push_back(stale ? Exactness::ContextEdited
                                : verdict(group.provenance[at(m_wlod.ledger[row].value())], now[row]));
      }
    }
  }

  ExactnessMap run() {
    ExactnessMap out;
    std::vector<Exactness> input;
    for (const CacheLayer layer : m_state.layers()) {
      if (m_state.cacheLayers().partOf(layer) == 0) {
        input = withLoaded(m_state, layer, m_wlod.ledger.span(), m_row);
        out.layers.insert(out.layers.end(), at(m_state.perLayer), entries(input));
        out.inherited.insert(out.inherited.end(), at(m_state.perLayer), entries(m_from));
      }
      pass(m_groups[at(m_state.groupOf[at(layer)])], input);
    }
    return out;
  }

 private:
  struct Group {
    SeenRows seen;
    std::vector<std::int32_t> begin;  // [rows] first entry of seen.rows that the mask lets through
    std::vector<Exactness> own;       // [rows] Exact, or how the fingerprint differs
  };

  /// The attention of a layer, whose input has these labels.
  void pass(const Group& group, const std::vector<Exactness>& input) {
    const std::vector<std::int32_t>& lists = group.seen.rows;
    std::vector<std::size_t> next(lists.size() + 1, lists.size());  // the first inexact row from here on
    for (std::size_t i = lists.size(); i-- > 0;) next[i] = input[at(lists[i])] != Exactness::Exact ? i : next[i + 1];
    for (std::size_t row = 0; row < m_row.size(); ++row) {
      if (m_row[row] != Exactness::Exact) continue;
      m_row[row] = group.own[row];
      const std::size_t seen = next[at(group.begin[row])];
      if (m_row[row] != Exactness::Exact || seen >= at(group.seen.end[row])) continue;
      if (whollyLoaded(m_state, m_wlod.ledger[row])) continue;
      m_row[row] = Exactness::Inherited;
      m_from[row] = m_wlod.context.entryAt(m_wlod.rows[at(lists[seen])].node.start);
    }
  }

  template <class T>
  std::vector<T> entries(const std::vector<T>& rows) const {
    std::vector<T> out;
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (m_wlod.rows[row].entry) out.push_back(rows[row]);
    return out;
  }

  const CacheState& m_state;
  const WlodState& m_wlod;
  std::vector<std::int32_t> m_rows;  // all
  std::vector<Group> m_groups;
  std::vector<Exactness> m_row;      // [rows] so far
  std::vector<std::int32_t> m_from;  // [rows] position of the earliest inexact row that the row saw
};

}  // namespace

ExactnessMap wlodExactness(const CacheState& state) {
  return state.edited ? CoveredVerdicts(state).run() : staleRows(state);
}

}  // namespace kvlab
