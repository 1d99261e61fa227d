// SPDX-License-Identifier: Apache-2.0
// Compares lifespans predicted by gates with recorded lifespans. semantics.md, section 6.
#include <limits>

#include "core/session/truth.h"

namespace kvlab {
namespace {

/// The score that the gate of a head gave each token of the context; NaN where the gate was not evaluated.
std::vector<float> predictedOf(const CacheState& state, const Column<float>& scores, std::size_t head,
                               std::size_t heads) {
  std::vector<float> out;
  for (const LedgerId id : state.context) {
    const std::size_t from = static_cast<std::size_t>(id.value()) * heads;
    out.push_back(from + heads <= scores.size() ? scores[from + head] : std::numeric_limits<float>::quiet_NaN());
  }
  return out;
}

std::vector<HeadLifespans> layerOf(const CacheState& state, const Column<float>& scores, const LayerLifespans& found,
                                   std::size_t heads, std::size_t points) {
  std::vector<HeadLifespans> out;
  const auto rows = static_cast<std::size_t>(state.length());
  bool any = false;
  for (std::size_t head = 0; head < heads; ++head) {
    out.push_back(headLifespans(predictedOf(state, scores, head, heads),
                                std::span(found.label).subspan(head * rows, rows),
                                std::span(found.censored).subspan(head * rows, rows), points));
    any = any || out.back().rows > 0;
  }
  if (!any) out.clear();
  return out;
}

}  // namespace

Result<std::shared_ptr<const LifespanView>> measureLifespans(Session& session, std::size_t points) {
  KV_TRY(session.usable());
  const CacheState& state = session.state();
  if (state.gateScores.empty())
    return Error("no_gates", "no lifespans were measured", "no gate has predicted any",
                 "give a layer the policy smartkv, then prompt or step");
  LifespanRules rules;
  rules.keys = false;
  Result<Lifespans> found = recordLifespans(session, rules);
  if (!found) return found.error();
  const std::shared_ptr<const LifespanView>& last = session.watching().lifespans;
  LifespanView view{last ? last->serial + 1 : 1, state.tick, found->rows, rules.threshold, {}};
  const auto heads = static_cast<std::size_t>(found->kvHeads);
  for (std::size_t layer = 0; layer < found->layers.size(); ++layer)
    view.layers.push_back(layer < state.gateScores.size()
                              ? layerOf(state, state.gateScores[layer], found->layers[layer], heads, points)
                              : std::vector<HeadLifespans>());
  session.watching().lifespans = std::make_shared<const LifespanView>(std::move(view));
  return session.watching().lifespans;
}

}  // namespace kvlab
