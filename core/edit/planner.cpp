// SPDX-License-Identifier: Apache-2.0
#include "core/edit/planner.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "core/api/cache_layers.h"
#include "core/edit/action_reader.h"

namespace kvlab {
namespace {

std::int64_t mostRows(const LayerGroup& group, const PlanRules& rules) {
  return group.capacity ? group.capacity : rules.capacity;
}

class Planner : ActionReader {
 public:
  Planner(const CacheState& state, const PlanRules& rules)
      : ActionReader(state.length(), rules.vocab, rules.addSource), m_state(state), m_rules(rules) {}

  Result<EditPlan> plan(std::vector<Action> actions) {
    readAll(actions);
    m_plan.actions = std::move(actions);
    if (!m_error) orderChanges();
    if (!m_error) checkOverlap();
    if (!m_error) checkEvictions();
    if (!m_error) layOut();
    if (!m_error) assignPhases();
    if (!m_error) checkCapacity();
    if (m_error) return *m_error;
    countEffects();
    return std::move(m_plan);
  }

 private:
  bool hasToken(Position position, const char* field) override {
    if (position.value() >= 0 && position.value() < m_length) return true;
    fail("out_of_range", field, position.value(),
         field + std::string(" ") + std::to_string(position.value()) + " is outside the context of " +
             std::to_string(m_length) + " tokens");
    return false;
  }

  void evict(const Evict& a) override {
    const CacheLayers layers = m_state.cacheLayers();
    if (a.layer.value() < 0 || a.layer.value() >= layers.layers)
      return fail("out_of_range", "layer", a.layer.value(), "there is no layer " + std::to_string(a.layer.value()));
    if (a.kvHead && !layers.byHead())
      return fail("unsupported", "kv_head", a.kvHead->value(), "rows leave a layer whole: residency is by layer",
                  "omit kv_head, or open the session with residency kv_head");
    if (a.kvHead && (a.kvHead->value() < 0 || a.kvHead->value() >= layers.perLayer))
      return fail("out_of_range", "kv_head", a.kvHead->value(),
                  "there is no KV head " + std::to_string(a.kvHead->value()));
    if (a.ledger.empty()) return fail("empty_positions", "ledger", nlohmann::json::array(), "ledger is empty");
    for (const CacheLayer own : layers.of(a.layer)) {
      if (a.kvHead && a.kvHead != layers.headOf(own)) continue;
      m_evictionPlaces.push_back(m_place);
      m_plan.evictions.push_back({own, a.ledger});
    }
  }

  void changeLod(NodeId, bool) override {
    fail("unsupported", "node", nullptr, "this session has no wLOD tree", "omit the action");
  }

  /// Sorts by anchor. At the same anchor inserts come before a replacement and keep list order.
  void orderChanges() {
    std::stable_sort(m_changes.begin(), m_changes.end(), [](const Change& a, const Change& b) {
      return a.anchor != b.anchor ? a.anchor < b.anchor : a.insert > b.insert;
    });
  }

  void checkOverlap() {
    std::vector<std::pair<Position, const Change*>> all;
    for (const Change& change : m_changes)
      for (Position position : change.removed) all.emplace_back(position, &change);
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size() && !m_error; ++i) {
      m_place = std::max(all[i].second->place, i ? all[i - 1].second->place : 0);
      if (i && all[i - 1].first == all[i].first)
        fail("overlap", "position", all[i].first.value(),
             "position " + std::to_string(all[i].first.value()) + " is edited twice");
      m_plan.removed.push_back(all[i].first);
      m_plan.removedState.push_back(all[i].second->fate);
    }
    for (const Change& change : m_changes) {
      m_place = change.place;
      if (change.insert && removedAt(change.anchor) && removedAt(change.anchor - 1))
        fail("overlap", "position", change.anchor, "the insert stands inside a run that another action removes");
    }
  }

  bool removedAt(std::int32_t position) const {
    return std::binary_search(m_plan.removed.begin(), m_plan.removed.end(), Position(position));
  }

  void checkEvictions() {
    std::vector<LedgerId> leaving;
    for (Position position : m_plan.removed) leaving.push_back(m_state.context[at(position)]);
    std::sort(leaving.begin(), leaving.end());
    std::unordered_set<std::uint64_t> seen;
    for (std::size_t i = 0; i < m_plan.evictions.size() && !m_error; ++i) {
      m_place = m_evictionPlaces[i];
      const PlannedEviction& eviction = m_plan.evictions[i];
      const std::vector<bool> resident = residentOf(m_state.map(eviction.layer), eviction.ledger);
      for (std::size_t row = 0; row < eviction.ledger.size(); ++row)
        checkEviction(eviction.ledger[row], eviction.layer, resident[row], leaving, seen);
    }
  }

  /// [ids] whether a map has a row of each; ids may be any numbers, and so may those of a damaged map.
  std::vector<bool> residentOf(const ResidencyView& map, const std::vector<LedgerId>& ids) const {
    constexpr std::size_t kFew = 8;  // ids that are looked for one by one
    const std::span<const LedgerId> rows = map.ledger.span().subspan(at(map.first));
    const std::size_t known = at(m_state.ledger.nextId());
    std::vector<bool> out, there(ids.size() > kFew ? known : 0);  // there: [ledger]
    if (ids.size() > kFew)
      for (const LedgerId id : rows)
        if (at(id) < known) there[at(id)] = true;
    for (const LedgerId id : ids)
      out.push_back(at(id) < known && (there.empty() ? std::ranges::find(rows, id) != rows.end() : there[at(id)]));
    return out;
  }

  void checkEviction(LedgerId id, CacheLayer layer, bool resident, const std::vector<LedgerId>& leaving,
                     std::unordered_set<std::uint64_t>& seen) {
    const std::string row = "ledger row " + std::to_string(id.value());
    if (!resident)
      return fail("not_resident", "ledger", id.value(),
                  row + " is not resident in layer " + m_state.cacheLayers().name(layer));
    if (m_state.ledger[id].pinned) return fail("pinned", "ledger", id.value(), row + " is pinned", "unpin it first");
    if (std::binary_search(leaving.begin(), leaving.end(), id))
      return fail("overlap", "ledger", id.value(), row + " is removed by another action");
    const auto key = static_cast<std::uint64_t>(layer.value()) << 32 | static_cast<std::uint32_t>(id.value());
    if (!seen.insert(key).second) fail("overlap", "ledger", id.value(), row + " is evicted twice");
  }

  void survivors(std::int32_t from, std::int32_t to) {
    for (std::int32_t at = from; at < to;) {
      const auto next = std::lower_bound(m_plan.removed.begin(), m_plan.removed.end(), Position(at));
      const std::int32_t stop = next == m_plan.removed.end() ? to : std::min(to, next->value());
      if (stop > at) m_plan.runs.push_back({false, at, stop - at});
      m_plan.lengthAfter += stop - at;
      at = stop + 1;
    }
  }

  void place(const Change& change) {
    PlannedAction detail{change.place, change.removed, Position(change.anchor), Position(m_plan.lengthAfter), {}};
    const auto begin = static_cast<std::int32_t>(m_plan.rows.size());
    for (TokenId token : change.tokens) {
      const LedgerId id(m_state.ledger.nextId().value() + static_cast<std::int32_t>(m_plan.rows.size()));
      detail.newLedger.push_back(id);
      m_plan.rows.push_back(
          {id, token, change.source, Position(m_plan.lengthAfter++), 0, static_cast<int>(m_plan.details.size())});
    }
    const auto count = static_cast<std::int32_t>(change.tokens.size());
    if (count && !m_plan.runs.empty() && m_plan.runs.back().fresh) m_plan.runs.back().count += count;
    else if (count) m_plan.runs.push_back({true, begin, count});
    m_plan.details.push_back(std::move(detail));
  }

  void layOut() {
    m_plan.lengthBefore = m_length;
    m_plan.firstChange = std::numeric_limits<std::int32_t>::max();
    std::int32_t at = 0;
    for (const Change& change : m_changes) {
      survivors(at, change.anchor);
      at = change.anchor;
      m_plan.firstChange = std::min(m_plan.firstChange, m_plan.lengthAfter);
      place(change);
    }
    survivors(at, m_length);
    for (const Change& add : m_adds) place(add);
    m_plan.adds = static_cast<std::int32_t>(m_adds.size());
  }

  /// In modes context and cache a row's phase is its place. Mode absolute keeps birth phases and fits new rows between
  /// them.
  void assignPhases() {
    for (NewRow& row : m_plan.rows) row.phase = row.position.value();
    if (m_rules.position != PositionMode::Absolute) return;
    std::vector<std::int32_t>& phases = m_plan.phases;
    phases.reserve(at(m_plan.lengthAfter));
    std::int32_t shift = 0;  // added to every later survivor (absolute_overflow shift)
    for (const Run& run : m_plan.runs) run.fresh ? freshPhases(run) : survivorPhases(run, shift);
  }

  void survivorPhases(const Run& run, std::int32_t& shift) {
    std::vector<std::int32_t>& phases = m_plan.phases;
    const std::int32_t first = m_state.phases[at(run.begin)] + shift;
    const std::int32_t lowest = phases.empty() ? 0 : phases.back() + 1;
    if (first < lowest) {
      if (!m_rules.shiftOnOverflow) return noRoom(lowest - first);
      shift += lowest - first;
    }
    for (std::int32_t i = 0; i < run.count; ++i) phases.push_back(m_state.phases[at(run.begin + i)] + shift);
  }

  void freshPhases(const Run& run) {
    std::vector<std::int32_t>& phases = m_plan.phases;
    for (std::int32_t i = 0; i < run.count; ++i) {
      NewRow& row = m_plan.rows[at(run.begin + i)];
      const PlannedAction& detail = m_plan.details[at(row.detail)];
      const std::int32_t lowest = phases.empty() ? 0 : phases.back() + 1;
      const bool leads = detail.newLedger.front() == row.id && !detail.removed.empty();
      const std::int32_t wanted = leads ? m_state.phases[at(detail.removed.front())] : lowest;
      row.phase = std::max(wanted, lowest);
      phases.push_back(row.phase);
    }
    m_place = m_plan.details[at(m_plan.rows[at(run.begin)].detail)].place;
    m_lastFresh = run.count;
  }

  void noRoom(std::int32_t missing) {
    fail("no_phase_room", "new_token_ids", nullptr,
         "needed " + std::to_string(m_lastFresh) + " phases below the next row, free " +
             std::to_string(m_lastFresh - missing),
         "insert fewer tokens, or set absolute_overflow to shift");
  }

  void checkCapacity() {
    const auto change = static_cast<std::int32_t>(m_plan.rows.size());
    std::vector<std::int32_t> leaving;  // [groups], removed rows that are resident
    for (const LayerGroup& group : m_state.groups) leaving.push_back(residentRemoved(*group.map));
    std::vector<std::int32_t> evicted(m_state.groupOf.size());
    for (const PlannedEviction& eviction : m_plan.evictions)
      evicted[at(eviction.layer)] += static_cast<std::int32_t>(eviction.ledger.size());
    for (const CacheLayer layer : m_state.layers()) {
      if (m_error || m_state.group(layer).keep) continue;  // a window has room for any number of new rows
      const auto rows = static_cast<std::int32_t>(m_state.map(layer).size());
      const std::int32_t out = evicted[at(layer)] + leaving[at(m_state.groupOf[at(layer)])];
      const std::int64_t most = mostRows(m_state.group(layer), m_rules);
      if (rows + change + m_rules.more - out > most) noCapacity(layer, rows, change + m_rules.more, out, most);
    }
    if (m_rules.maxLength > 0 && m_plan.lengthAfter + m_rules.more > m_rules.maxLength && !m_error) tooLong();
  }

  std::int32_t residentRemoved(const ResidencyView& map) const {
    if (m_plan.removed.empty() || m_state.whole(map)) return static_cast<std::int32_t>(m_plan.removed.size());
    std::unordered_set<std::int32_t> ids;
    for (Position position : m_plan.removed) ids.insert(m_state.context[at(position)].value());
    return static_cast<std::int32_t>(
        std::count_if(map.ledger.begin(), map.ledger.end(), [&](LedgerId id) { return ids.contains(id.value()); }));
  }

  std::string where() const { return "position " + std::to_string(m_length) + ": "; }

  void tooLong() {
    m_error = Error("capacity", "the context is full",
                    where() + std::to_string(m_plan.lengthAfter - m_length + m_rules.more) + " more tokens make " +
                        std::to_string(m_plan.lengthAfter + m_rules.more) + ", the limit is " +
                        std::to_string(m_rules.maxLength),
                    "delete tokens, reset, or raise capacity in the manifest", "capacity", m_rules.maxLength);
  }

  void noCapacity(CacheLayer layer, std::int32_t rows, std::int32_t change, std::int32_t out, std::int64_t most) {
    m_error = Error("capacity", "the cache is full",
                    where() + "layer " + m_state.cacheLayers().name(layer) + " holds " + std::to_string(rows) +
                        " rows, " + std::to_string(change) + " new - " + std::to_string(out) + " leaving make " +
                        std::to_string(rows + change - out) + ", the limit is " + std::to_string(most),
                    "delete or evict rows, reset, or raise capacity in the manifest", "capacity", most);
  }

  void countEffects() {
    std::int32_t position = 0;
    for (const Run& run : m_plan.runs) {
      if (!run.fresh) {
        const std::int32_t from = std::max(position, m_plan.firstChange);
        if (position + run.count > from) m_plan.stale += position + run.count - from;
        const bool moved = m_rules.position == PositionMode::Absolute
            ? m_plan.phases[at(position)] != m_state.phases[at(run.begin)]
            : position != run.begin;
        if (moved) m_plan.phaseShifted += run.count;
      }
      position += run.count;
    }
    m_plan.firstChange = std::min(m_plan.firstChange, m_plan.lengthAfter);
  }

  const CacheState& m_state;
  const PlanRules& m_rules;
  EditPlan m_plan;
  std::vector<int> m_evictionPlaces;
  std::int32_t m_lastFresh = 0;
};

}  // namespace

std::int64_t rowsLeft(const CacheState& state, const PlanRules& rules) {
  const std::int32_t phases = state.length() ? std::max(state.length(), state.phases[at(state.length() - 1)] + 1) : 0;
  std::int64_t left = rules.maxLength - phases;
  for (const LayerGroup& group : state.groups)
    if (!group.keep) left = std::min(left, mostRows(group, rules) - static_cast<std::int64_t>(group.map->size()));
  return left;
}

Result<EditPlan> planEdit(const CacheState& state, const PlanRules& rules, std::vector<Action> actions) {
  return Planner(state, rules).plan(std::move(actions));
}

namespace {

class Places {
 public:
  Places(const Column<LedgerId>& before, const Column<LedgerId>& after) : m_after(after.size()) {
    std::unordered_map<std::int32_t, std::int32_t> place;
    for (std::size_t p = 0; p < after.size(); ++p) place[after[p].value()] = static_cast<std::int32_t>(p);
    for (std::size_t p = 0; p < before.size(); ++p) {
      const auto found = place.find(before[p].value());
      m_now.push_back(found == place.end() ? -1 : found->second);
    }
  }

  /// New position of the first remaining token at or behind `position`; the end if none remains.
  Position of(Position position) const {
    for (std::size_t p = at(position.value()); p < m_now.size(); ++p)
      if (m_now[p] >= 0) return Position(m_now[p]);
    return Position(static_cast<std::int32_t>(m_after));
  }

 private:
  std::vector<std::int32_t> m_now;  // [before] place in the context after, -1 = gone
  std::size_t m_after;
};

struct Follow {
  const Places& places;

  void operator()(ReplacePair& action) const {
    action.originalPos1 = places.of(action.originalPos1);
    action.originalPos2 = places.of(action.originalPos2);
  }
  void operator()(Replace& action) const {
    for (Position& position : action.positions) position = places.of(position);
  }
  void operator()(Delete& action) const { action.position = places.of(action.position); }
  void operator()(Insert& action) const { action.position = places.of(action.position); }
  void operator()(Add&) const {}
  void operator()(Evict&) const {}   // names ledger ids
  void operator()(Expand&) const {}  // nodes of the time line
  void operator()(Collapse&) const {}
};

}  // namespace

void followTokens(std::vector<Action>& actions, const Column<LedgerId>& before, const Column<LedgerId>& after) {
  if (actions.empty()) return;
  const Places places(before, after);
  for (Action& action : actions) std::visit(Follow{places}, action);
}

}  // namespace kvlab
