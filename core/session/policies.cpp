// SPDX-License-Identifier: Apache-2.0
#include "core/session/policies.h"

#include <limits>

namespace kvlab {
void setFuture(Session& session, std::shared_ptr<const FutureMass> future) {
  if (!session.state().policy) return;
  PolicyState next = *session.state().policy;
  next.future = std::move(future);
  CacheState state = session.state();
  state.policy = std::make_shared<const PolicyState>(std::move(next));
  session.refine(std::move(state));
}

std::vector<float> scoresOf(const CacheState& state, CacheLayer layer) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const ResidencyView& map = state.map(layer);
  if (!state.policy) return std::vector<float>(map.size(), kNone);
  return alignedWith(map, state.policy->layers[at(layer)].scores, 1, kNone);
}

}  // namespace kvlab
