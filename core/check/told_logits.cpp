// SPDX-License-Identifier: Apache-2.0
#include "core/check/checks.h"

#include <algorithm>
#include <cmath>

#include "core/check/stored_heads.h"

namespace kvlab {
namespace {

constexpr double kSpread = 0.02;  // in parts of the logits' standard deviation; differences add up from layer to layer

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
      const std::optional<std::vector<double>> given =
          storedAttention(m_input, m_decoder, m_stored, layer, m_decoder.project(layer, x),
                          [&](CacheLayer own) { return newestIn(own); });
      if (!given) return std::nullopt;
      std::vector<ScalarOutput> made = m_decoder.outputs(layer, *given, x);
      if (made.size() > 1) return std::nullopt;  // rounding chose among experts
      x = std::move(made[0].values);
    }
    return m_decoder.logits(x).values;
  }

 private:
  LedgerId newest() const { return m_state.context[m_state.context.size() - 1]; }

  /// The newest row of a layer, if that is the newest token's.
  std::optional<std::size_t> newestIn(CacheLayer layer) const {
    const ResidencyView& map = m_state.map(layer);
    if (map.resident() == 0 || map.ledger[map.size() - 1] != newest()) return std::nullopt;
    return map.size() - 1;
  }

  const CheckInput& m_input;
  const CacheState& m_state;
  ScalarDecoder m_decoder;
  StoredHeads m_stored;
};

}  // namespace

void checkToldLogits(const CheckInput& input, Findings& findings) {
  const CacheState& state = input.state;
  if (!input.transformer || (!input.deeds.empty() && !input.refreshed) || state.logitsStale || !state.logits ||
      state.context.empty() || state.policy || state.kind->derivesContext() || !input.store.backend().onHost())
    return;
  // Rows may have left behind the pass that made the logits: kept from the state before or a file, or not known.
  const auto whole = [&](CacheLayer layer) { return state.map(layer).resident() == state.context.size(); };
  const bool kept = !input.before || input.before->logits == state.logits || state.loadedLogits == state.logits;
  if (kept && !std::ranges::all_of(state.layers(), whole)) return;
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
