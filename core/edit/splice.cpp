// SPDX-License-Identifier: Apache-2.0
#include "core/edit/splice.h"

#include "core/edit/departures.h"

#include <algorithm>

namespace kvlab {
namespace {

/// A context-ordered column after the plan: survivors are copied in runs, new rows come from `fresh(i)`.
template <class T, class Fresh>
Column<T> spliceColumn(const Column<T>& before, const EditPlan& plan, Fresh fresh) {
  if (plan.removed.empty() && plan.rows.size() == at(plan.adds)) {  // what layers evict stays in the context
    Column<T> column = before;
    for (std::size_t i = 0; i < plan.rows.size(); ++i) column.push_back(fresh(i));
    return column;
  }
  return Column<T>::make(at(plan.lengthAfter), [&](T* out) {
    for (const Run& run : plan.runs) {
      if (run.fresh)
        for (std::int32_t i = 0; i < run.count; ++i) *out++ = fresh(at(run.begin + i));
      else out = std::copy_n(before.begin() + run.begin, run.count, out);
    }
  });
}

class Splicer {
 public:
  Splicer(const CacheState& before, const EditPlan& plan, const LayerSlots& fresh, const SpliceRules& rules)
      : m_before(before), m_plan(plan), m_fresh(fresh), m_rules(rules) {}

  Spliced run() {
    m_out.state = m_before;
    m_out.freed.resize(m_before.groupOf.size());
    m_out.unused.resize(m_before.groupOf.size());
    spliceContext();
    spliceMaps();
    for (const CacheLayer layer : m_before.layers()) noteUnused(layer);
    spliceLedger();
    m_out.state.edited = m_before.edited || m_plan.stale > 0 || m_plan.phaseShifted > 0 || !m_plan.evictions.empty();
    return std::move(m_out);
  }

 private:
  void spliceContext() {
    CacheState& state = m_out.state;
    const auto& rows = m_plan.rows;
    state.context = spliceColumn(m_before.context, m_plan, [&](std::size_t i) { return rows[i].id; });
    state.brightness =
        spliceColumn(m_before.brightness, m_plan, [&](std::size_t i) { return m_rules.startOf(rows[i].source); });
    if (m_rules.position == PositionMode::Absolute)
      state.phases = m_plan.phases.empty() ? Column<std::int32_t>() : Column<std::int32_t>(m_plan.phases);
    else if (!state.kind->derivesContext())
      state.phases = ramp(state.ramp, at(m_plan.lengthAfter));  // such rows only leave
    for (const NewRow& row : rows) state.birthPhases.push_back(row.phase);
    state.contextSums = m_before.contextSums.prefix(untouched() + 1);
  }

  /// Length of the unchanged front of the context.
  std::size_t untouched() const {
    if (m_plan.runs.empty() || m_plan.runs[0].fresh || m_plan.runs[0].begin != 0) return 0;
    return at(m_plan.runs[0].count);
  }

  /// Layers of one group stay in one group if their new slots and evictions are equal.
  void spliceMaps() {
    regroup(
        m_out.state,
        [this](CacheLayer a, CacheLayer b) { return m_fresh[at(a)] == m_fresh[at(b)] && evicted(a) == evicted(b); },
        [this](CacheLayer layer) { return spliceGroup(layer); },
        [this](CacheLayer layer, CacheLayer leader) { m_out.freed[at(layer)] = m_out.freed[at(leader)]; });
  }

  std::vector<LedgerId> evicted(CacheLayer layer) const {
    std::vector<LedgerId> out;
    for (const PlannedEviction& e : m_plan.evictions)
      if (e.layer == layer) out.insert(out.end(), e.ledger.begin(), e.ledger.end());
    std::sort(out.begin(), out.end());
    return out;
  }

  LayerGroup spliceGroup(CacheLayer layer) {
    const LayerGroup& old = m_before.group(layer);
    LayerGroup group = old;
    const bool ragged = !m_before.whole(*old.map) || !evicted(layer).empty();
    const bool appends = m_plan.appendsOnly();
    const std::size_t kept = !ragged ? untouched() + 1 : appends ? old.map->size() + 1 : 0;
    const bool leavesOnly = ragged && !appends && m_plan.removed.empty() && m_plan.rows.empty();
    if (!ragged) group.map = spliceWhole(layer);
    else if (appends) group.map = appendRagged(layer);
    else if (leavesOnly) evictOnly(layer, group);
    else group.map = spliceRagged(layer, group);
    if (group.all) group.all = withoutEvicted(layer, *group.all);
    if (leavesOnly) return group;
    group.idSums = old.idSums.prefix(kept);
    group.phasedSums = old.phasedSums.prefix(kept);
    return group;
  }

  std::shared_ptr<const ResidencyView> spliceWhole(CacheLayer layer) {
    const ResidencyView& old = m_before.map(layer);
    auto map = std::make_shared<ResidencyView>();
    map->ledger = m_out.state.context;
    map->phases = m_out.state.phases;
    map->slotOf = spliceColumn(old.slotOf, m_plan, [&](std::size_t i) { return m_fresh[at(layer)][i]; });
    map->first = firstAfter(old.first);
    for (Position position : m_plan.removed)
      if (old.has(at(position.value()))) m_out.freed[at(layer)].push_back(old.slotOf[at(position.value())]);
    return map;
  }

  /// Lists slots of new rows that the window excludes at once. All such rows lie behind the unchanged front.
  void noteUnused(CacheLayer layer) {
    const ResidencyView& map = m_out.state.map(layer);
    const std::size_t front = untouched(), gone = m_out.state.context.size() - map.size();
    for (std::size_t i = front > gone ? front - gone : 0; i < at(map.first); ++i)
      if (map.ledger[i] >= m_before.ledger.nextId())
        m_out.unused[at(layer)].push_back(
            m_fresh[at(layer)][at(map.ledger[i].value() - m_before.ledger.nextId().value())]);
  }

  /// Rows behind the last row that the window excludes are resident, including new ones.
  std::int32_t firstAfter(std::int32_t first) const {
    if (first == 0 || m_plan.appendsOnly()) return first;
    std::int32_t position = 0, after = 0;
    for (const Run& run : m_plan.runs) {
      if (!run.fresh && run.begin < first) after = position + std::min(run.count, first - run.begin);
      position += run.count;
    }
    return after;
  }

  /// Appends to a map with evicted rows: the columns only grow.
  std::shared_ptr<const ResidencyView> appendRagged(CacheLayer layer) {
    auto map = std::make_shared<ResidencyView>(m_before.map(layer));
    for (std::size_t i = 0; i < m_plan.rows.size(); ++i) {
      map->phases.push_back(m_rules.position == PositionMode::Cache ? static_cast<std::int32_t>(map->size())
                                                                    : m_out.state.phases[m_before.context.size() + i]);
      map->ledger.push_back(m_plan.rows[i].id);
      map->slotOf.push_back(m_fresh[at(layer)][i]);
    }
    return map;
  }

  /// The usual work of policies: a few rows leave and nothing else changes.
  void evictOnly(CacheLayer layer, LayerGroup& group) {
    const ResidencyView& old = m_before.map(layer);
    const std::vector<LedgerId> out = evicted(layer);
    auto map = std::make_shared<ResidencyView>();
    const std::vector<std::size_t> leaving = placesOf(out, old);
    group.absent += static_cast<std::int32_t>(leaving.size());
    map->first = old.first;
    for (const std::size_t i : leaving) {
      group.evicted.push_back(old.ledger[i]);
      if (old.has(i)) m_out.freed[at(layer)].push_back(old.slotOf[i]);
      else --map->first;
    }
    map->ledger = without(old.ledger, leaving);
    map->slotOf = without(old.slotOf, leaving);
    const bool ramps = m_rules.position == PositionMode::Cache;
    map->phases = ramps ? ramp(m_out.state.ramp, map->ledger.size()) : without(old.phases, leaving);
    group.map = std::move(map);
    group.idSums = sumsWithout(group.idSums, leaving, old.size());
    if (!ramps) group.phasedSums = sumsWithout(group.phasedSums, leaving, old.size());
    else if (!leaving.empty()) group.phasedSums = group.phasedSums.prefix(leaving.front() + 1);
  }

  /// Prefix sums over the rows that stay: the words of those that leave are taken out of all sums behind them. Of sums
  /// that are shorter than the map, those before the first that leaves.
  static Column<std::uint64_t> sumsWithout(const Column<std::uint64_t>& sums, const std::vector<std::size_t>& leaving,
                                           std::size_t rows) {
    if (leaving.empty()) return sums;
    if (sums.size() != rows + 1) return sums.prefix(leaving.front() + 1);
    return Column<std::uint64_t>::make(rows + 1 - leaving.size(), [&](std::uint64_t* out) {
      std::uint64_t gone = 0;
      const auto copy = [&](std::size_t from, std::size_t end) {
        for (; from < end; ++from) *out++ = sums[from] - gone;
      };
      std::size_t from = 0;
      for (const std::size_t i : leaving) {
        copy(from, i + 1);
        gone += sums[i + 1] - sums[i];
        from = i + 2;  // the sum with the row is now the one without it
      }
      copy(from, rows + 1);
    });
  }

  /// All rows of a layer that holds some beside its map, from which these have left.
  std::shared_ptr<const ResidencyView> withoutEvicted(CacheLayer layer, const ResidencyView& all) const {
    const std::vector<std::size_t> leaving = placesOf(evicted(layer), all);
    auto map = std::make_shared<ResidencyView>(all);
    map->ledger = without(all.ledger, leaving);
    map->slotOf = without(all.slotOf, leaving);
    map->phases = without(all.phases, leaving);
    return map;
  }

  /// Indices of map rows whose ids are among `ids`, which ascend.
  static std::vector<std::size_t> placesOf(const std::vector<LedgerId>& ids, const ResidencyView& map) {
    std::vector<std::size_t> out;
    if (ids.size() == 1) {
      const std::span<const LedgerId> rows = map.ledger.span().first(map.size());
      if (const auto found = std::ranges::find(rows, ids.front()); found != rows.end())
        out.push_back(static_cast<std::size_t>(found - rows.begin()));
      return out;
    }
    for (std::size_t i = 0; i < map.size() && !ids.empty(); ++i) {
      const LedgerId id = map.ledger[i];
      if (ids.front() <= id && id <= ids.back() && std::binary_search(ids.begin(), ids.end(), id)) out.push_back(i);
    }
    return out;
  }

  template <class T>
  static Column<T> without(const Column<T>& column, const std::vector<std::size_t>& leaving) {
    return Column<T>::make(column.size() - leaving.size(), [&](T* out) {
      std::size_t from = 0;
      for (const std::size_t i : leaving) {
        out = std::copy(column.begin() + from, column.begin() + i, out);
        from = i + 1;
      }
      std::copy(column.begin() + from, column.end(), out);
    });
  }

  /// Walks the context after the edit and keeps the rows resident in this layer.
  std::shared_ptr<const ResidencyView> spliceRagged(CacheLayer layer, LayerGroup& group) {
    const ResidencyView& old = m_before.map(layer);
    const std::vector<LedgerId> out = evicted(layer);
    group.absent += static_cast<std::int32_t>(out.size());
    if (!out.empty()) group.evicted.append(out);
    std::vector<std::int32_t> indexOf(m_before.context.size(), -1);  // position -> index in old map
    for (std::size_t position = 0, index = 0; position < indexOf.size() && index < old.size(); ++position)
      if (old.ledger[index] == m_before.context[position]) indexOf[position] = static_cast<std::int32_t>(index++);
    std::vector<LedgerId> ledger;
    std::vector<Slot> slots;
    std::vector<std::int32_t> phases;
    std::int32_t position = 0, first = 0;
    const auto keep = [&](LedgerId id, Slot slot) {
      phases.push_back(m_rules.position == PositionMode::Cache ? static_cast<std::int32_t>(ledger.size())
                                                               : m_out.state.phases[at(position)]);
      ledger.push_back(id);
      slots.push_back(slot);
    };
    for (const Run& run : m_plan.runs)
      for (std::int32_t i = 0; i < run.count; ++i, ++position) {
        if (run.fresh) {
          keep(m_plan.rows[at(run.begin + i)].id, m_fresh[at(layer)][at(run.begin + i)]);
          continue;
        }
        const std::int32_t index = indexOf[at(run.begin + i)];
        if (index < 0) continue;
        const LedgerId id = old.ledger[at(index)];
        const bool evicts = std::binary_search(out.begin(), out.end(), id);
        if (!evicts) keep(id, old.slotOf[at(index)]);
        else if (old.has(at(index))) m_out.freed[at(layer)].push_back(old.slotOf[at(index)]);
        if (index < old.first) first = static_cast<std::int32_t>(ledger.size());
      }
    for (Position removed : m_plan.removed)
      if (const std::int32_t index = indexOf[at(removed.value())]; index < 0) --group.absent;
      else if (old.has(at(index))) m_out.freed[at(layer)].push_back(old.slotOf[at(index)]);
    auto map = std::make_shared<ResidencyView>();
    map->slotOf.assign(slots);
    map->first = first;
    if (ledger.size() == m_out.state.context.size()) {  // no row is missing any more: share the mirror's columns
      map->ledger = m_out.state.context;
      map->phases = m_out.state.phases;
    } else {
      map->ledger.assign(ledger);
      map->phases.assign(phases);
    }
    return map;
  }

  void spliceLedger() {
    Ledger& ledger = m_out.state.ledger;
    const Tick now(m_before.tick.value() + 1);
    for (const NewRow& row : m_plan.rows) {
      LedgerRow fresh;
      fresh.token = row.token;
      fresh.source = row.source;
      fresh.born = fresh.changed = now;
      for (Position removed : m_plan.details[at(row.detail)].removed)
        fresh.parents.push_back(m_before.context[at(removed.value())]);
      ledger.append(std::move(fresh));
    }
    for (std::size_t i = 0; i < m_plan.removed.size(); ++i) leave(m_plan.removed[i], m_plan.removedState[i], now);
    for (const PlannedAction& detail : m_plan.details)
      for (Position removed : detail.removed)
        if (!detail.newLedger.empty()) ledger.change(m_before.context[at(removed.value())]).children = detail.newLedger;
    std::vector<LedgerId> evicted;
    for (const PlannedEviction& eviction : m_plan.evictions)
      evicted.insert(evicted.end(), eviction.ledger.begin(), eviction.ledger.end());
    markRows(m_out.state, evicted, now);
  }

  void leave(Position position, RowState state, Tick now) {
    LedgerRow& row = m_out.state.ledger.change(m_before.context[at(position.value())]);
    row.state = state;
    row.changed = now;
    row.brightness = m_before.brightness[at(position.value())];
  }

  const CacheState& m_before;
  const EditPlan& m_plan;
  const LayerSlots& m_fresh;
  const SpliceRules& m_rules;
  Spliced m_out;
};

}  // namespace

Column<std::int32_t> ramp(Column<std::int32_t>& shared, std::size_t size) {
  while (shared.size() < size) shared.push_back(static_cast<std::int32_t>(shared.size()));
  return shared.prefix(size);
}

Spliced splice(const CacheState& before, const EditPlan& plan, const LayerSlots& fresh, const SpliceRules& rules) {
  return Splicer(before, plan, fresh, rules).run();
}

}  // namespace kvlab
