// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/kind/wlod_kind.h"

#include "core/kinds/wlod/edit/wlod_seen.h"

namespace kvlab {
namespace {

ExactnessMap staleRows(const CacheState& state) {
  const WlodState& wlod = wlodIn(state);
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

/// Compares the inputs of a wLOD state's rows with the inputs from which a pass would compute them today.
class CoveredVerdicts {
 public:
  explicit CoveredVerdicts(const CacheState& state)
      : m_state(state), m_wlod(wlodIn(state)), m_row(at(m_wlod.count()), Exactness::Exact), m_from(m_row.size(), -1) {
    for (std::int32_t row = 0; row < m_wlod.count(); ++row) m_rows.push_back(row);
    const Coverage coverage(m_wlod.context, m_wlod.rows.span(), m_wlod.rules.attention, m_wlod.rules.pyramid);
    const std::vector<QueryBlock> blocks = coverage.blocks(m_rows);
    for (const LayerGroup& group : state.groups) {
      Group& one = m_groups.emplace_back();
      one.seen = seenRows(blocks, m_rows, missingRows(m_wlod, group));
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

ExactnessMap WlodKind::exactness(const SessionParts&, const CacheState& state) const {
  return state.edited ? CoveredVerdicts(state).run() : staleRows(state);
}

}  // namespace kvlab
