// SPDX-License-Identifier: Apache-2.0
#include "core/check/told_logits.h"

#include <algorithm>
#include <cmath>

#include "core/check/head_reader.h"
#include "core/check/implied_rows.h"
#include "core/check/stored_heads.h"

namespace kvlab {
namespace {

constexpr double kSpread = 0.02;  // of the standard deviation of the logits; differences add up from layer to layer

class Told {
 public:
  Told(const CheckInput& input, Findings& findings)
      : m_input(input),
        m_state(input.state),
        m_decoder(input.transformer->model(), m_state.reach(), input.transformer->ops().numericsId()),
        m_stored(input, m_decoder, findings) {}

  bool rounds() const { return m_stored.rounds() || m_decoder.rounds(); }

  /// None where the newest token has left a layer, or where rounding decides between experts.
  std::optional<std::vector<double>> logits() {
    std::vector<double> x = m_decoder.embed(m_state.ledger[newest()].token);
    for (const Layer layer : m_state.cacheLayers().ofModel()) {
      const std::optional<std::vector<double>> given = attended(layer, m_decoder.project(layer, x));
      if (!given) return std::nullopt;
      std::vector<ScalarOutput> made = m_decoder.outputs(layer, *given, x);
      if (made.size() > 1) return std::nullopt;  // rounding chose among experts
      x = std::move(made[0].values);
    }
    return m_decoder.logits(x).values;
  }

 private:
  LedgerId newest() const { return m_state.context[m_state.context.size() - 1]; }

  std::optional<std::vector<double>> attended(Layer layer, const ScalarRow& row) {
    const ModelConfig& config = m_input.transformer->model().config();
    const CacheLayers layers = m_state.cacheLayers();
    const int perPart = config.heads / layers.perLayer, group = config.heads / config.kvHeads;
    const bool turned = m_input.transformer->keysRotated();
    std::vector<double> out;
    int head = 0;
    for (const CacheLayer own : layers.of(layer)) {
      const ResidencyView& map = m_state.map(own);
      const RowPool& pool = m_input.store.pool(own);
      if (map.resident() == 0 || map.ledger[map.size() - 1] != newest()) return std::nullopt;
      const ImpliedRows seen = impliedRows(map, map.size() - 1, windowIn(m_input, own));
      const std::span<const Slot> slots = map.slotOf.span().subspan(at(seen.begin), at(seen.end - seen.begin));
      if (std::ranges::any_of(slots, [&](Slot slot) { return slot.value() < 0 || slot.value() >= pool.slots(); }))
        return std::nullopt;
      ScalarSeen rows;
      for (std::int32_t i = seen.begin; i < seen.end; ++i)
        rows.phases.push_back(turned ? 0 : m_stored.phaseOf(map.phases[at(i)]));
      for (int i = 0; i < perPart; ++i, ++head) {
        std::vector<double> q = row.q[at(head)].values;
        m_decoder.turn(layer, q, m_stored.phaseOf(map.phases[map.size() - 1]), true);
        rows.read = HeadReader(pool, slots, head / group % pool.format().kvHeads);
        const std::vector<double> one = m_decoder.attend(layer, head, q, rows, turned);
        out.insert(out.end(), one.begin(), one.end());
      }
    }
    return out;
  }

  const CheckInput& m_input;
  const CacheState& m_state;
  ScalarDecoder m_decoder;
  StoredHeads m_stored;
};

}  // namespace

void checkToldLogits(const CheckInput& input, Findings& findings) {
  const CacheState& state = input.state;
  if (!input.transformer || !input.deeds.empty() || state.logitsStale || !state.logits || state.context.empty() ||
      state.policy || state.wlod || !input.store.backend().onHost())
    return;
  Told told(input, findings);
  if (told.rounds()) return;
  const std::optional<std::vector<double>> wanted = told.logits();
  if (!wanted || wanted->size() != state.logits->size()) return;
  double mean = 0, square = 0, apart = 0;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    mean += (*wanted)[i];
    square += (*wanted)[i] * (*wanted)[i];
    apart = std::max(apart, std::abs((*wanted)[i] - static_cast<double>((*state.logits)[i])));
  }
  const auto n = static_cast<double>(wanted->size());
  const double room = kSpread * std::max(std::sqrt(std::max(0.0, square / n - mean / n * mean / n)), 1e-3);
  if (apart > room)
    findings.add({{}, {}, state.context[state.context.size() - 1]},
                 "the logits of the next token differ by " + figureText(apart) +
                     " from what the stored rows give, and " + figureText(room) + " is allowed");
}

}  // namespace kvlab
