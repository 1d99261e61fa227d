// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/edit/wlod_mirror.h"

#include <algorithm>

#include "core/edit/departures.h"
#include "core/edit/group_pass.h"
#include "core/kinds/wlod/tree/lens.h"
#include "core/state/mirror_map.h"

namespace kvlab {
namespace {

/// The values of the entries that a map holds, and one for the row itself, which attention has told of all entries. A
/// damaged map may list rows out of order: these get 0.
void addHeld(const CacheState& state, const ResidencyView& map, std::span<const double> entries,
             std::vector<float>& out) {
  std::size_t entry = 0;
  for (const LedgerId id : map.ledger) {
    while (entry < state.context.size() && state.context[entry] != id) ++entry;
    out.push_back(entry < state.context.size() ? static_cast<float>(entries[entry]) : 0);
  }
  out.push_back(0);
}

/// By entry, from lists by row, [lists, rows of the state].
std::vector<float> heldMass(const CacheState& state, CacheLayer layer, std::span<const float> lists) {
  const WlodState& wlod = wlodIn(state);
  std::vector<float> out;
  for (std::size_t from = 0; from < lists.size(); from += at(wlod.count())) {
    const auto own = lists.subspan(from, at(wlod.count()));
    const std::vector<float> list(own.begin(), own.end());
    addHeld(state, state.map(layer), entryMass(wlod.context, wlod.rows.span(), {&list, 1}), out);
  }
  return out;
}

class Mirror {
 public:
  Mirror(const CacheState& before, const WlodMirrorRules& rules) : m_before(before), m_rules(rules), m_out(before) {}

  CacheState write(WlodApplied&& applied) {
    m_out.ledger = std::move(applied.ledger);
    m_slots = std::move(applied.slots);
    m_missing = std::move(applied.missing);
    auto state = std::make_shared<WlodState>(std::move(applied.state));
    m_state = state.get();
    m_out.tick = Tick(m_before.tick.value() + 1);
    m_out.edited = m_before.edited && !applied.all;
    m_out.logitsStale = false;
    m_out.contextSums = {};
    writeContext();
    writeBirths();
    writeBrightness();
    writeGroups();
    m_out.kind = state;
    if (m_out.edited) noteProvenance(m_out, applied.rows);
    forgetComputed(applied);
    markReturned();
    writeScores(applied);
    writeStatistics();
    m_out.logits = applied.result.logits.empty()
        ? nullptr
        : std::make_shared<const std::vector<float>>(std::move(applied.result.logits));
    if (m_rules.probes) writeAttention(applied.result.attention.get(), *state);
    else if (!state->mass.empty()) state->mass = follow(state->mass, 0, true);
    if (!state->scores.empty()) state->scores = follow(state->scores, 0, false);
    return std::move(m_out);
  }

 private:
  void writeContext() {
    std::vector<LedgerId> context;
    for (std::size_t row = 0; row < m_state->rows.size(); ++row)
      if (m_state->rows[row].entry) context.push_back(m_state->ledger[row]);
    m_out.context = m_before.context.following(context);
    std::vector<std::int32_t> phases;
    for (const TreeNode entry : m_state->context.entries()) phases.push_back(entry.phase());
    m_out.phases = m_before.phases.following(phases);
  }

  /// carried(), but a token that has moved on the time line takes its value along.
  std::vector<double> follow(std::span<const double> values, double fresh, bool sums) const {
    std::vector<double> out = carried(wlodIn(m_before).context, values, m_state->context, fresh, sums);
    if (values.empty()) return out;
    const auto same = static_cast<std::size_t>(
        std::mismatch(m_before.context.begin(), m_before.context.end(), m_out.context.begin(), m_out.context.end())
            .first -
        m_before.context.begin());
    std::vector<std::pair<LedgerId, std::size_t>> was;
    for (std::size_t i = same; i < m_before.context.size(); ++i) was.emplace_back(m_before.context[i], i);
    std::sort(was.begin(), was.end());
    for (std::size_t i = same; i < out.size(); ++i) {
      const auto found = std::lower_bound(was.begin(), was.end(), std::pair(m_out.context[i], std::size_t{0}));
      if (found != was.end() && found->first == m_out.context[i]) out[i] = values[found->second];
    }
    return out;
  }

  /// Writes birth phases of new ledger rows and of tokens that moved: the moment of a token, the centre of a gist.
  void writeBirths() {
    const std::size_t known = m_before.ledger.size();
    std::vector<std::pair<std::size_t, std::int32_t>> moved;
    std::vector<std::int32_t> births(m_out.ledger.size() - known, -1);
    const auto note = [&](LedgerId id, std::int32_t phase) {
      if (at(id.value()) >= known) births[at(id.value()) - known] = phase;
      else if (m_out.birthPhases[at(id.value())] != phase) moved.emplace_back(at(id.value()), phase);
    };
    for (std::int32_t row = 0; row < m_state->count(); ++row)
      note(m_state->ledger[at(row)], m_state->rows[at(row)].node.phase());
    const Column<LedgerId>& tokens = m_state->tree.tokens();  // after a cold start many tokens are never an entry
    const bool all = std::find(births.begin(), births.end(), -1) == births.end();
    for (std::int32_t t = 0; !all && t < m_state->tree.length(); ++t) note(tokens[at(t)], t);
    if (!moved.empty())
      m_out.birthPhases = Column<std::int32_t>::make(known, [&](std::int32_t* out) {
        std::copy(m_before.birthPhases.begin(), m_before.birthPhases.end(), out);
        for (const auto& [id, phase] : moved) out[id] = phase;
      });
    m_out.birthPhases.append(births);
  }

  /// New tokens start with the brightness of their source. Rows that left keep their last brightness in the ledger.
  void writeBrightness() {
    const std::vector<double> was(m_before.brightness.begin(), m_before.brightness.end());
    const std::vector<double> now = follow(was, m_rules.splice.maxBrightness, false);
    const LedgerId known = m_before.ledger.nextId();
    m_out.brightness = Column<float>::make(now.size(), [&](float* out) {
      for (std::size_t i = 0; i < now.size(); ++i) {
        const bool token = m_state->context.entries()[i].level == 0 && m_out.context[i] >= known;
        out[i] = token ? m_rules.splice.startOf(m_out.ledger[m_out.context[i]].source) : static_cast<float>(now[i]);
      }
    });
    for (std::size_t i = 0; i < was.size(); ++i)
      if (const LedgerId id = m_before.context[i]; m_out.ledger[id].state != RowState::Live) {
        if (m_out.ledger[id].brightness != m_before.brightness[i])
          m_out.ledger.change(id).brightness = m_before.brightness[i];
      }
  }

  bool alike(CacheLayer a, CacheLayer b) const {
    return m_rules.layouts.alike(a, b) && m_before.group(a).window == m_before.group(b).window &&
        m_missing[at(a)] == m_missing[at(b)] && std::ranges::equal(m_slots[at(a)], m_slots[at(b)]);
  }

  /// Layers that are alike and whose rows lie in the same slots share a group.
  void writeGroups() {
    m_out.groups.clear();
    m_out.groupOf.clear();
    std::vector<CacheLayer> firsts;
    for (const CacheLayer layer : m_before.layers()) {
      const auto same = std::ranges::find_if(firsts, [&](CacheLayer first) { return alike(first, layer); });
      m_out.groupOf.push_back(static_cast<std::int32_t>(same - firsts.begin()));
      if (same != firsts.end()) continue;
      firsts.push_back(layer);
      m_out.groups.push_back(groupOf(layer));
    }
  }

  LayerGroup groupOf(CacheLayer layer) const {
    const LayerGroup& before = m_before.group(layer);
    LayerGroup group;
    static_cast<GroupRules&>(group) = before;
    group.map = viewOf(layer, true, *before.map);
    const std::vector<LedgerId> lacked = lackedBy(m_out.context, *group.map);
    group.evicted = before.evicted.following(lacked);
    group.absent = static_cast<std::int32_t>(lacked.size());
    if (group.map->size() == m_out.context.size()) shareContext(group);
    group.provenance = before.provenance;
    group.provenance.append(std::vector<Provenance>(m_out.ledger.size() - group.provenance.size()));
    if (m_state->rules.attention == WlodAttention::Pyramid) group.all = viewOf(layer, false, before.stored());
    return group;
  }

  /// The rows that were not evicted, or the entries among them. The first ones may have left through a window.
  std::shared_ptr<const ResidencyView> viewOf(CacheLayer layer, bool entries, const ResidencyView& before) const {
    const MissingRows& missing = m_missing[at(layer)];
    std::vector<LedgerId> ledger;
    std::vector<Slot> slots;
    std::vector<std::int32_t> phases;
    auto out = std::make_shared<ResidencyView>();
    for (std::size_t row = 0; row < m_state->rows.size(); ++row) {
      if ((!missing.empty() && missing[row]) || (entries && !m_state->rows[row].entry)) continue;
      ledger.push_back(m_state->ledger[row]);
      slots.push_back(m_slots[at(layer)][row]);
      phases.push_back(m_state->rows[row].node.phase());
      if (slots.back().value() < 0) out->first = static_cast<std::int32_t>(slots.size());
    }
    out->ledger = before.ledger.following(ledger);
    out->slotOf = before.slotOf.following(slots);
    out->phases = before.phases.following(phases);
    return out;
  }

  void shareContext(LayerGroup& group) const {
    auto map = std::make_shared<ResidencyView>(*group.map);
    map->ledger = m_out.context;
    map->phases = m_out.phases;
    group.map = std::move(map);
  }

  /// Some rows were computed from the second layer on.
  void forgetComputed(const WlodApplied& applied) {
    std::vector<LedgerId> whole, behind;
    for (const std::int32_t row : applied.rows) {
      const bool first = at(row) < applied.layer0.size() && applied.layer0[at(row)];
      (first ? behind : whole).push_back(m_state->ledger[at(row)]);
    }
    std::ranges::sort(whole), std::ranges::sort(behind);
    forgetPasts(m_out, whole);
    forgetPasts(m_out, behind, CacheLayer(m_out.perLayer));
  }

  /// Rows that had left through windows and were computed again.
  void markReturned() {
    std::vector<LedgerId> left;
    for (const LedgerId id : m_out.context)
      if (m_out.ledger[id].state == RowState::LeftWindow) left.push_back(id);
    markRows(m_out, left, m_out.tick);
  }

  /// Gates score a row once, when it comes.
  void writeScores(const WlodApplied& applied) {
    const std::vector<std::vector<float>>& all = applied.result.gateScores;
    std::vector<RowTarget> rows;
    std::vector<std::vector<float>> scores(all.size());
    const auto heads = at(m_rules.kvHeads);
    for (std::size_t i = 0; !all.empty() && i < applied.rows.size(); ++i) {
      const LedgerId id = m_state->ledger[at(applied.rows[i])];
      if (id < m_before.ledger.nextId()) continue;
      rows.push_back({id, m_out.ledger[id].token});
      for (std::size_t layer = 0; layer < all.size(); ++layer) {
        const auto own = std::span(all[layer]).subspan(i * heads, heads);
        scores[layer].insert(scores[layer].end(), own.begin(), own.end());
      }
    }
    if (!rows.empty()) keepGateScores(m_out, rows, scores, m_rules.kvHeads);
  }

  /// Carries the policies' attention statistics over to the rows of the new tiling.
  void writeStatistics() {
    if (!m_before.policy || m_out.context.prefix(m_before.context.size()).sharesWith(m_before.context)) return;
    auto next = std::make_shared<PolicyState>(*m_before.policy);
    for (const CacheLayer layer : m_out.layers())
      for (RowValues* values : {&next->layers[at(layer)].received, &next->layers[at(layer)].observed})
        if (values->map && values->map->size() > 0) *values = followed(layer, *values);
    m_out.policy = std::move(next);
  }

  RowValues followed(CacheLayer layer, const RowValues& values) const {
    const std::size_t lists = values.values.size() / values.map->size();
    const ResidencyView& before = m_before.map(layer);
    const std::vector<float> was = alignedWith(before, values, static_cast<int>(lists), 0);
    const std::shared_ptr<const ResidencyView>& map = m_out.group(layer).map;
    std::vector<float> out;
    for (std::size_t list = 0; list < lists; ++list) {
      std::vector<double> entries(m_before.context.size());
      for (std::size_t i = 0, entry = 0; i < before.size(); ++i) {
        while (m_before.context[entry] != before.ledger[i]) ++entry;
        entries[entry] = was[list * before.size() + i];
      }
      addHeld(m_out, *map, follow(entries, 0, true), out);
      out.pop_back();
    }
    return RowValues::of(map, out);
  }

  /// Sums attention by entry: per layer for readers, over all layers for the lens.
  void writeAttention(const NewestAttention* seen, WlodState& state) {
    if (!seen || seen->mass.front().empty()) {  // no entry is left
      m_out.attention = m_out.read = nullptr;
      state.mass = follow(state.mass, 0, true);
      return;
    }
    m_out.attention = m_out.read = attentionOf(m_out, *seen);
    std::vector<double> weights;
    for (const double layer : m_rules.lens) weights.insert(weights.end(), at(m_out.perLayer), layer);
    const std::vector<double> now = entryMass(state.context, state.rows.span(), seen->mass, weights);
    std::vector<double> was = follow(state.mass, 0, true);
    for (std::size_t i = 0; i < now.size(); ++i) was[i] = m_rules.memory * was[i] + (1 - m_rules.memory) * now[i];
    state.mass = std::move(was);
  }

  const CacheState& m_before;
  const WlodMirrorRules& m_rules;
  CacheState m_out;
  const WlodState* m_state = nullptr;
  std::vector<Column<Slot>> m_slots;   // [cache layers][rows]
  std::vector<MissingRows> m_missing;  // [cache layers]
};

}  // namespace

std::vector<double> carried(const WorkingContext& before, std::span<const double> values, const WorkingContext& after,
                            double fresh, bool sums) {
  const Column<TreeNode>&was = before.entries(), &is = after.entries();
  std::vector<double> out(is.size(), fresh);
  if (values.empty()) return out;
  std::size_t b = 0;
  for (std::size_t i = 0; i < is.size() && b < was.size(); ++i) {
    const TreeNode entry = is[i];
    while (b < was.size() && was[b].end() <= entry.start) ++b;
    if (b == was.size()) break;
    if (was[b].span() >= entry.span()) {
      out[i] = sums ? values[b] * entry.span() / was[b].span() : values[b];
      continue;
    }
    double sum = 0, highest = values[b];
    for (; b < was.size() && was[b].end() <= entry.end(); ++b) {
      sum += values[b];
      highest = std::max(highest, values[b]);
    }
    out[i] = sums ? sum : highest;
  }
  return out;
}

std::shared_ptr<NewestAttention> attentionOf(const CacheState& state, const NewestAttention& rows) {
  auto out = std::make_shared<NewestAttention>();
  const std::size_t layers = rows.mass.size();
  out->mass.resize(layers), out->perHead.resize(layers);
  out->received.resize(layers), out->receivedPerHead.resize(layers);
  for (const CacheLayer layer : idRange<CacheLayer>(0, layers)) {
    out->maps.push_back(state.group(layer).map);
    out->mass[at(layer)] = heldMass(state, layer, rows.mass[at(layer)]);
    out->perHead[at(layer)] = heldMass(state, layer, rows.perHead[at(layer)]);
    out->receivedPerHead[at(layer)] = heldMass(state, layer, rows.receivedPerHead[at(layer)]);
  }
  return out;
}

CacheState mirrored(const CacheState& before, WlodApplied&& applied, const WlodMirrorRules& rules) {
  return Mirror(before, rules).write(std::move(applied));
}

}  // namespace kvlab
