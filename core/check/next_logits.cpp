// SPDX-License-Identifier: Apache-2.0
// The last forward pass has left the logits of the next token: one finite number per vocabulary entry,
// unless the context is empty or the logits are marked stale. Logits that no pass of the last commit made belong to the
// rows that the next token sees.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "core/api/json_values.h"
#include "core/check/checks.h"
#include "core/check/stored_heads.h"

namespace kvlab {
namespace {

/// Index of the first row in which the rows that the next token sees differ from those before; none = they do not. Rows
/// may have left by a decision of policies, behind the pass that made the logits.
std::optional<std::size_t> differs(const ResidencyView& was, const ResidencyView& is, bool leaves) {
  const bool same = is.first == was.first && is.ledger.sharesWith(was.ledger) && is.phases.sharesWith(was.phases);
  if (same) return std::nullopt;
  auto old = static_cast<std::size_t>(was.first);
  for (auto i = static_cast<std::size_t>(is.first); i < is.size(); ++i, ++old) {
    while (leaves && old < was.size() && was.ledger[old] != is.ledger[i]) ++old;
    if (old >= was.size() || was.ledger[old] != is.ledger[i]) return i;
    if (!leaves && was.phases[old] != is.phases[i]) return i;
  }
  return leaves || old == was.size() ? std::nullopt : std::optional(is.size());
}

/// Logits of the state before may stay only if the next token sees the same rows as then.
void checkKept(const CheckInput& input, Findings& findings) {
  const CacheState &is = input.state, &was = *input.before;
  if (is.groupOf.size() != was.groupOf.size() || is.context.empty()) return;
  const LedgerId newest = is.context[is.context.size() - 1];
  const auto tell = [&](const Place& place) {
    findings.add(place,
                 "the logits of the next token are those of the state before" +
                     (place.layer ? ", and in layer " + is.cacheLayers().name(*place.layer) +
                              " the next token sees other rows than then"
                                  : std::string(", which an edit had made stale")),
                 Harm{.logits = true});
  };
  if (was.logitsStale) return tell({{}, {}, newest});
  const bool decided = is.policy && is.policy->audit.tick == is.tick;
  for (const CacheLayer layer : is.layers()) {
    const ResidencyView &old = was.group(layer).stored(), &now = is.group(layer).stored();
    const std::optional<std::size_t> at = differs(old, now, decided);
    if (at) return tell({layer, *at, *at < now.ledger.size() ? now.ledger[*at] : newest});
  }
}

/// A step through history may bring no logits of its own only where the next token sees the same rows in both states,
/// but for those that left behind the pass.
void checkBrought(const CheckInput& input, Findings& findings) {
  const CacheState &is = input.state, &was = *input.left;
  if (was.logitsStale || is.groupOf.size() != was.groupOf.size() || is.context.empty()) return;
  const bool leaves = is.policy || was.policy;
  for (const CacheLayer layer : is.layers()) {
    const ResidencyView &old = was.group(layer).stored(), &now = is.group(layer).stored();
    const std::optional<std::size_t> at = differs(old, now, leaves);
    if (!at || !differs(now, old, leaves)) continue;
    const LedgerId row = *at < now.ledger.size() ? now.ledger[*at] : is.context[is.context.size() - 1];
    return findings.add({layer, *at, row},
                        "the logits of the next token are those of the state that a step through history has left, and "
                        "in layer " +
                            is.cacheLayers().name(layer) + " the next token sees other rows than there",
                        Harm{.logits = true});
  }
}

constexpr double kSpread = 0.02;  // in parts of the logits' standard deviation; differences add up from layer to layer

/// The logits of the next token where no pass of the last commit made them: behind a step through history, a load, a
/// change of storage, or a question that computed stale logits anew. Takes the newest token through all layers over the
/// stored rows, in another implementation of the decoder (scalar_decoder.h).
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

/// Compares the logits of the state with them, unless policies let rows go behind the pass, the kind derives its
/// context, or products round their factors.
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
                     " from what the stored rows give, and " + figureText(room) + " is allowed",
                 Harm{.logits = true});
}

}  // namespace

void checkNextLogits(const CheckInput& input, Findings& findings) {
  const CacheState& state = input.state;
  if (!state.logits) {
    if (!state.context.empty() && !state.logitsStale)
      findings.add({}, "there are no logits of the next token and none are due");
    return;
  }
  if (input.before && !state.logitsStale && state.logits == input.before->logits) checkKept(input, findings);
  if (input.left && !state.logitsStale && state.logits == input.left->logits) checkBrought(input, findings);
  if (input.full && findings.count() == 0) checkToldLogits(input, findings);
  const std::vector<float>& logits = *state.logits;
  if (input.vocab > 0 && logits.size() != static_cast<std::size_t>(input.vocab))
    findings.add(
        {},
        "there are " + std::to_string(logits.size()) + " logits, the vocabulary has " + std::to_string(input.vocab));
  if (!input.full && input.passed && input.passed->logits == state.logits) return;  // the numbers have passed
  // A whole vocabulary: no branch for each.
  const auto wrong = std::ranges::count_if(
      logits, [](float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) == 0x7f800000u; });
  for (std::size_t i = 0; wrong > 0 && i < logits.size(); ++i)
    if (!std::isfinite(logits[i]))
      findings.add({},
                   "the logit of token " + std::to_string(i) + " is " + numberWords(static_cast<double>(logits[i])));
}

}  // namespace kvlab
