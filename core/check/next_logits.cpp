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
                                  : std::string(", which an edit had made stale")));
  };
  if (was.logitsStale) return tell({{}, {}, newest});
  const bool decided = is.policy && is.policy->audit.tick == is.tick;
  for (const CacheLayer layer : is.layers()) {
    const ResidencyView &old = was.group(layer).stored(), &now = is.group(layer).stored();
    const std::optional<std::size_t> at = differs(old, now, decided);
    if (at) return tell({layer, *at, *at < now.ledger.size() ? now.ledger[*at] : newest});
  }
}

}  // namespace

void checkNextLogits(const CheckInput& input, std::vector<Violation>& out) {
  Findings findings("next_logits", out);
  const CacheState& state = input.state;
  if (!state.logits) {
    if (!state.context.empty() && !state.logitsStale)
      findings.add({}, "there are no logits of the next token and none are due");
    return;
  }
  if (input.before && !state.logitsStale && state.logits == input.before->logits) checkKept(input, findings);
  if (input.full && findings.count() == 0) checkToldLogits(input, findings);
  const std::vector<float>& logits = *state.logits;
  if (input.vocab > 0 && logits.size() != static_cast<std::size_t>(input.vocab))
    findings.add(
        {},
        "there are " + std::to_string(logits.size()) + " logits, the vocabulary has " + std::to_string(input.vocab));
  // A whole vocabulary: no branch for each.
  const auto wrong = std::ranges::count_if(
      logits, [](float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) == 0x7f800000u; });
  for (std::size_t i = 0; wrong > 0 && i < logits.size(); ++i)
    if (!std::isfinite(logits[i]))
      findings.add({},
                   "the logit of token " + std::to_string(i) + " is " + numberWords(static_cast<double>(logits[i])));
}

}  // namespace kvlab
