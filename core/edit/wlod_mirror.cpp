// SPDX-License-Identifier: Apache-2.0
#include "core/edit/wlod_mirror.h"

#include <algorithm>

#include "core/wlod/lens.h"

namespace kvlab {
namespace {

/// Selects the values of rows that are entries.
template <class T>
Column<T> entriesOf(const WlodState& state, const Column<T>& rows, const Column<T>& before) {
  if (state.rules.attention == WlodAttention::Flat) return rows;
  std::vector<T> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (state.rows[i].entry) out.push_back(rows[i]);
  return before.following(out);
}

class Mirror {
 public:
  Mirror(const CacheState& before, const WlodMirrorRules& rules) : m_before(before), m_rules(rules), m_out(before) {}

  CacheState write(WlodApplied&& applied) {
    m_out.ledger = std::move(applied.ledger);
    m_slots = std::move(applied.slots);
    auto state = std::make_shared<WlodState>(std::move(applied.state));
    m_state = state.get();
    m_out.tick = Tick(m_before.tick.value() + 1);
    m_out.edited = false;
    m_out.logitsStale = false;
    m_out.contextSums = {};
    writeContext();
    writeBirths();
    writeBrightness();
    writeGroups();
    m_out.logits = applied.result.logits.empty()
        ? nullptr
        : std::make_shared<const std::vector<float>>(std::move(applied.result.logits));
    if (m_rules.probes) writeAttention(applied.result.mass, *state);
    else if (!state->mass.empty()) state->mass = follow(state->mass, 0, true);
    if (!state->scores.empty()) state->scores = follow(state->scores, 0, false);
    m_out.wlod = std::move(state);
    return std::move(m_out);
  }

 private:
  void writeContext() {
    m_out.context = entriesOf(*m_state, m_state->ledger, m_before.context);
    std::vector<std::int32_t> phases;
    for (const TreeNode entry : m_state->context.entries()) phases.push_back(entry.phase());
    m_out.phases = m_before.phases.following(phases);
  }

  /// carried(), but a token that has moved on the time line takes its value along.
  std::vector<double> follow(std::span<const double> values, double fresh, bool sums) const {
    std::vector<double> out = carried(m_before.wlod->context, values, m_state->context, fresh, sums);
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

  float startOf(LedgerId id) const {
    const auto found = m_rules.splice.startBrightness.find(std::string(name(m_out.ledger[id].source)));
    return found == m_rules.splice.startBrightness.end() ? m_rules.splice.maxBrightness
                                                         : static_cast<float>(found->second);
  }

  /// New tokens start with the brightness of their source. Rows that left keep their last brightness in the ledger.
  void writeBrightness() {
    const std::vector<double> was(m_before.brightness.begin(), m_before.brightness.end());
    const std::vector<double> now = follow(was, m_rules.splice.maxBrightness, false);
    const LedgerId known = m_before.ledger.nextId();
    m_out.brightness = Column<float>::make(now.size(), [&](float* out) {
      for (std::size_t i = 0; i < now.size(); ++i) {
        const bool token = m_state->context.entries()[i].level == 0 && m_out.context[i] >= known;
        out[i] = token ? startOf(m_out.context[i]) : static_cast<float>(now[i]);
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
        std::ranges::equal(m_slots[at(a)], m_slots[at(b)]);
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
    auto map = std::make_shared<ResidencyView>();
    map->ledger = m_out.context;
    map->phases = m_out.phases;
    map->slotOf = entriesOf(*m_state, m_slots[at(layer)], before.map->slotOf);
    group.map = std::move(map);
    group.provenance = before.provenance;
    group.provenance.append(std::vector<Provenance>(m_out.ledger.size() - group.provenance.size()));
    if (m_state->rules.attention == WlodAttention::Flat) return group;
    auto all = std::make_shared<ResidencyView>();
    all->ledger = m_state->ledger;
    all->slotOf = m_slots[at(layer)];
    all->phases = Column<std::int32_t>::make(at(m_state->count()), [&](std::int32_t* out) {
      for (const WlodRow& row : m_state->rows) *out++ = row.node.phase();
    });
    group.all = std::move(all);
    return group;
  }

  /// Sums attention by entry: per layer for readers, over all layers for the lens.
  void writeAttention(const std::vector<std::vector<float>>& mass, WlodState& state) {
    if (mass.empty()) {  // no entry is left
      m_out.attention = nullptr;
      state.mass = follow(state.mass, 0, true);
      return;
    }
    auto newest = std::make_shared<NewestAttention>();
    for (const CacheLayer layer : m_out.layers()) {
      const std::vector<double> entries = entryMass(state.context, state.rows.span(), {&mass[at(layer)], 1});
      newest->mass.emplace_back(entries.begin(), entries.end());
      newest->maps.push_back(m_out.group(layer).map);
    }
    newest->received.resize(mass.size());
    m_out.attention = std::move(newest);
    std::vector<double> weights;
    for (const double layer : m_rules.lens) weights.insert(weights.end(), at(m_out.perLayer), layer);
    const std::vector<double> now = entryMass(state.context, state.rows.span(), mass, weights);
    std::vector<double> was = follow(state.mass, 0, true);
    for (std::size_t i = 0; i < now.size(); ++i) was[i] = m_rules.memory * was[i] + (1 - m_rules.memory) * now[i];
    state.mass = std::move(was);
  }

  const CacheState& m_before;
  const WlodMirrorRules& m_rules;
  CacheState m_out;
  const WlodState* m_state = nullptr;
  std::vector<Column<Slot>> m_slots;  // [cache layers][rows]
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

CacheState mirrored(const CacheState& before, WlodApplied&& applied, const WlodMirrorRules& rules) {
  return Mirror(before, rules).write(std::move(applied));
}

}  // namespace kvlab
