// SPDX-License-Identifier: Apache-2.0
// Policies keep their contract. A commit that computed rows ends with a decision. Then a bounded layer has no more rows
// than its bands and the pinned rows beyond them, and no row that left by the decision was protected or had a better
// score than a row that stayed. The received attention that a policy remembers is the remembered attention of the state
// before, and the attention of the pass. A decision is judged where it was made: a later commit may pin a row, set
// another policy or give a layer a window. semantics.md, section 6.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/check/checks.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

/// NaN ranks lowest.
float rank(float score) { return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score; }

class Contract {
 public:
  Contract(const CheckInput& input, Findings& findings)
      : m_state(input.state),
        m_policy(*input.state.policy),
        m_before(input.full ? input.before : nullptr),
        m_pins(input.state.ledger.pins() > 0),
        m_ran(!input.deeds.empty()),
        m_decided(input.decided),
        m_decoded(m_before && generated(input) && m_decided == PassKind::Decode &&
                  m_before->ledger.size() + 1 == m_state.ledger.size()),
        m_findings(findings) {}

  void check() {
    if (m_ran && m_before && m_before->policy && m_state.attention && m_policy.seen == m_state.attention &&
        m_before->policy->seen != m_state.attention)
      for (const CacheLayer layer : m_state.layers())
        if (at(layer) < m_before->policy->layers.size() && at(layer) < m_policy.layers.size() &&
            at(layer) < m_state.attention->receivedPerHead.size() && at(layer) < m_state.attention->maps.size() &&
            m_state.attention->maps[at(layer)]) {
          remembers(layer, &LayerPolicyState::received, 1, 1);
          const double share = 1.0 / std::max(1, spec(layer).observe);  // each query takes the place of one
          if (m_decoded) remembers(layer, &LayerPolicyState::observed, 1 - share, share);
        }
    if (!m_decided && !m_ran) return;
    for (const CacheLayer layer : m_state.layers()) {
      if (at(layer) >= m_policy.specs.size() || at(layer) >= m_policy.audit.layers.size() || !bounded(layer)) continue;
      if (!m_decided) return undecided(layer);
      rows(layer);
      left(layer);
    }
  }

 private:
  const PolicySpec& spec(CacheLayer layer) const { return m_policy.specs[at(layer)]; }
  const LayerAudit& audit(CacheLayer layer) const { return m_policy.audit.layers[at(layer)]; }
  std::string name(CacheLayer layer) const {
    return "layer " + m_state.cacheLayers().name(layer) + ": policy " + spec(layer).name;
  }

  bool pinned(LedgerId id) const { return m_pins && m_state.ledger[id].pinned; }

  bool bounded(CacheLayer layer) const {
    return !spec(layer).keepsAll() && !m_policy.prefilling && (!spec(layer).ratio || m_policy.promptRows > 0);
  }

  /// The received attention of rows is `keep` times the value before plus `share` times the last pass's attention, mean
  /// over the group's query heads.
  void remembers(CacheLayer layer, RowValues LayerPolicyState::*values, double keep, double share) {
    const PolicyState& was = *m_before->policy;
    const NewestAttention* pass = m_state.attention.get();
    const RowValues &now = m_policy.layers[at(layer)].*values, &then = was.layers[at(layer)].*values;
    const std::vector<float>& given = pass->receivedPerHead[at(layer)];
    const ResidencyView& seen = *pass->maps[at(layer)];
    if (!now.map || now.values.empty() || given.empty() || !std::ranges::equal(now.map->ledger, seen.ledger)) return;
    const std::size_t rows = now.map->size(), lists = now.values.size() / rows, width = seen.size() + 1,
                      group = given.size() / width / lists;
    std::unordered_map<std::int32_t, std::size_t> inThen, inPass;
    for (std::size_t i = 0; then.map && i < then.map->size(); ++i) inThen.emplace(then.map->ledger[i].value(), i);
    for (std::size_t i = 0; i < seen.size(); ++i) inPass.emplace(seen.ledger[i].value(), i);
    for (std::size_t list = 0; list < lists; ++list)
      for (std::size_t i = 0; i < rows; ++i) {
        const LedgerId id = now.map->ledger[i];
        double wanted = 0;
        if (const auto old = inThen.find(id.value()); old != inThen.end() && !then.values.empty())
          wanted = keep * static_cast<double>(then.values[list * then.map->size() + old->second]);
        if (const auto one = inPass.find(id.value()); one != inPass.end())
          for (std::size_t head = 0; head < group; ++head)
            wanted += share * static_cast<double>(given[(list * group + head) * width + one->second]) /
                static_cast<double>(group);
        const auto got = static_cast<double>(now.values[list * rows + i]);
        if (std::abs(got - wanted) > 1e-3 * (1 + std::abs(wanted)))
          return m_findings.add({layer, i, id},
                                name(layer) + " remembers that " + rowName(id) + " has received the attention " +
                                    std::to_string(got) + "; what it had before and the last pass make " +
                                    std::to_string(wanted));
      }
  }

  void undecided(CacheLayer layer) {
    m_findings.add({layer},
                   name(layer) + " made no decision in tick " + std::to_string(m_state.tick.value()) +
                       ", its last one was in tick " + std::to_string(m_policy.audit.tick.value()));
  }

  /// Rows that the bands hold: counted from the manifest's figures where these are plain, else as the audit has them.
  std::int64_t asked(CacheLayer layer) const {
    const PolicySpec& own = spec(layer);
    const bool plain = own.allocator == Allocator::Uniform && !own.byHead();
    if (!plain) return audit(layer).requested();
    if (own.capacity) return std::max(1, *own.capacity);
    if (own.ratio) return std::max<std::int64_t>(1, static_cast<std::int64_t>(*own.ratio * m_policy.promptRows));
    if (own.budget) return std::int64_t{own.sinks} + *own.budget + own.window;
    return own.threshold ? std::numeric_limits<std::int64_t>::max() : std::int64_t{own.sinks} + own.window;
  }

  void rows(CacheLayer layer) {
    const ResidencyView& map = m_state.map(layer);
    const Bands& bands = audit(layer).bands;
    const std::int64_t most = asked(layer), wait = m_decided == PassKind::PromptEnd ? 0 : spec(layer).interval - 1;
    const auto there = static_cast<std::int64_t>(map.resident());
    if (there <= most + wait) return;
    std::int64_t held = 0;
    const auto first = static_cast<std::size_t>(map.first);
    for (std::size_t i = first + at(bands.sinks); i + at(bands.window) < map.size(); ++i) held += pinned(map.ledger[i]);
    const std::int64_t beyond = std::max<std::int64_t>(0, held - bands.budget);
    if (there <= most + beyond + wait) return;
    m_findings.add(
        {layer, first, map.ledger[first]},
        name(layer) + " is to leave " + std::to_string(most) + " rows and left " + std::to_string(there) +
            (audit(layer).evicted > 0 ? "; it decided that " + std::to_string(audit(layer).evicted) + " leave" : ""));
  }

  /// Looks at the rows that the last decision let go.
  void left(CacheLayer layer) {
    const RowValues& scores = m_policy.layers[at(layer)].scores;
    if (audit(layer).evicted == 0 || !scores.map || scores.values.size() != scores.map->size()) return;
    const ResidencyView &then = *scores.map, &now = m_state.map(layer);
    const Bands& bands = audit(layer).bands;
    const std::size_t first = static_cast<std::size_t>(then.first), end = then.size();
    std::size_t next = 0, worst = end;  // both lists are in the order of the context
    float kept = std::numeric_limits<float>::infinity();
    std::vector<std::size_t> gone;
    while (next < now.ledger.size() && first < end && now.ledger[next] != then.ledger[first] &&
           next < static_cast<std::size_t>(now.first))
      ++next;
    for (std::size_t i = first; i < end; ++i) {
      const LedgerId id = then.ledger[i];
      const bool stays = next < now.ledger.size() && now.ledger[next] == id;
      next += stays;
      const bool guarded = i < first + at(bands.sinks) || i + at(bands.window) >= end || pinned(id);
      if (!stays && guarded)
        return m_findings.add({layer, i, id}, name(layer) + " let " + rowName(id) + " go, which its bands protect");
      if (!stays) gone.push_back(i);
      else if (!guarded && rank(scores.values[i]) <= kept) kept = rank(scores.values[worst = i]);
    }
    for (const std::size_t i : gone)
      if ((rank(scores.values[i]) > kept || (rank(scores.values[i]) == kept && i < worst && worst < end)) &&
          !(spec(layer).threshold && scores.values[i] < *spec(layer).threshold))
        return m_findings.add({layer, i, then.ledger[i]},
                              name(layer) + " let " + rowName(then.ledger[i]) + " go with score " +
                                  std::to_string(scores.values[i]) + ", and " + rowName(then.ledger[worst]) +
                                  " stayed with score " + std::to_string(kept));
  }

  const CacheState& m_state;
  const PolicyState& m_policy;
  const CacheState* const m_before;         // null = what was before is not compared
  const bool m_pins;                        // some token is pinned: the large ledger is asked for each row
  const bool m_ran;                         // passes made the state
  const std::optional<PassKind> m_decided;  // in the commit that made the state, and behind which pass
  const bool m_decoded;                     // they added one token that the model was asked for, and nothing else
  Findings& m_findings;
};

}  // namespace

void checkPolicyContract(const CheckInput& input, Findings& findings) {
  if (!input.state.policy || input.state.kind->derivesContext()) return;
  Contract(input, findings).check();
}

}  // namespace kvlab
